#include "api_client/api_client.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "http/tls/tls.h"

namespace nutshell::api {
namespace {

constexpr std::chrono::milliseconds kConnectTime{20'000};
constexpr std::size_t kMostAnswerBytes = 64U << 20U;

struct Endpoint {
  std::string host;  // without the brackets of an IPv6 address
  std::uint16_t port = 0;
};

// Splits "https://host:7070", which parse_daemon_address() has checked.
Endpoint endpoint_of(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);
  const std::size_t colon = url.rfind(':');
  Endpoint endpoint{std::string(url.substr(0, colon)), 0};
  if (endpoint.host.starts_with('[') && endpoint.host.ends_with(']'))
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  const std::string_view port = url.substr(colon + 1);
  (void)std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  return endpoint;
}

std::string text_of(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

ApiClient::ApiClient(DaemonAccess access) : access_(std::move(access)), client_(options()) {}

http::Client::Options ApiClient::options() {
  http::Client::Options options;
  if (!access_.socket.empty()) {
    options.dial = [this](const Deadline& deadline) -> Result<UniqueFd> {
      auto socket = http::dial_unix(access_.socket)(deadline);
      is_connected_ = socket.has_value();
      if (socket) return socket;
      return failure(ErrorCode::Unavailable,
                     "no daemon answers there; start one with 'nutshell daemon start'");
    };
    return options;
  }
  const Endpoint endpoint = endpoint_of(access_.url);
  options.host = access_.url.substr(access_.url.find("://") + 3);
  options.dial = [this,
                  dial = http::dial_tcp(endpoint.host, endpoint.port)](const Deadline& deadline) {
    auto socket = dial(earlier(deadline, Deadline::in(kConnectTime)));
    is_connected_ = socket.has_value();
    return socket;
  };
  if (access_.url.starts_with("https://")) {
    options.make_transport = [this, host = endpoint.host](UniqueFd socket) {
      return begin_tls(host, std::move(socket));
    };
  }
  return options;
}

Result<std::unique_ptr<http::Transport>> ApiClient::begin_tls(const std::string& host,
                                                              UniqueFd socket) {
  if (!make_tls_) {
    make_tls_ = TRY(http::tls_client({host, environment_variable("NUTSHELL_DAEMON_CA"),
                                      environment_variable("NUTSHELL_DAEMON_CERT"),
                                      environment_variable("NUTSHELL_DAEMON_KEY")}));
  }
  is_connected_ = false;  // until the handshake is over
  auto transport = TRY(make_tls_(std::move(socket)));
  TRY(transport->finish_handshake(Deadline::in(kConnectTime)));
  is_connected_ = true;
  return transport;
}

http::Client::Request ApiClient::request(const std::string& method, const std::string& target,
                                         const std::string& body) const {
  http::Client::Request request{.method = method, .target = target, .body = body};
  if (!body.empty()) request.headers.add("Content-Type", "application/json");
  if (!access_.token.empty()) request.headers.add("Authorization", "Bearer " + access_.token);
  return request;
}

// Names the daemon, and says whether a request whose answer is lost may have been carried out.
Failure ApiClient::failed(Error error, Effect effect) const {
  if (is_connected_ && error.code == ErrorCode::Unavailable) {
    error.message = fmt::format("the connection to the daemon ended before its answer{} ({})",
                                effect == Effect::None ? "" : "; it may have done what was asked",
                                error.message);
  }
  return while_doing(to_string(access_), std::move(error));
}

Result<http::Client::Response> ApiClient::send(const std::string& method, const std::string& target,
                                               const std::string& body) {
  auto answer =
      client_.send(request(method, target, body), Deadline::in(patience_), kMostAnswerBytes);
  if (!answer)
    return failed(std::move(answer).error(), method == "GET" ? Effect::None : Effect::Possible);
  return answer;
}

Result<ApiClient::Upgraded> ApiClient::upgrade(const std::string& target, const std::string& body,
                                               std::string_view protocol) {
  http::Client client(options());  // send() goes on with the connection of client_
  auto answer =
      client.request_upgrade(request("POST", target, body), protocol, Deadline::in(patience_));
  if (!answer) return failed(std::move(answer).error(), Effect::None);
  Upgraded upgraded{answer->status, std::move(answer->headers), UniqueFd(),
                    std::move(answer->body)};
  if (!answer->transport) return upgraded;
  upgraded.socket = answer->transport->is_bare() ? answer->transport->release()
                                                 : TRY(relays_.add(std::move(answer->transport)));
  return upgraded;
}

Result<nlohmann::ordered_json> ApiClient::ask(const std::string& method, const std::string& target,
                                              const std::string& body) {
  const auto answer = TRY(send(method, target, body));
  if (answer.status >= 300 || answer.status < 200) return problem_of(answer.status, answer.body);
  if (answer.body.empty()) return nlohmann::ordered_json();
  auto object = nlohmann::ordered_json::parse(answer.body, nullptr, false);
  if (object.is_object()) return object;
  return failure(
      ErrorCode::Corrupt,
      fmt::format("{}: a program that is not nutshelld listens there", to_string(access_)));
}

Result<std::string> body_of(const nlohmann::ordered_json& request) {
  try {
    return request.dump();
  } catch (const nlohmann::ordered_json::exception&) {
    return failure(ErrorCode::InvalidArgument,
                   "through a daemon, paths, labels, variables and commands must be UTF-8");
  }
}

Failure problem_of(int status, const std::string& body) {
  const auto problem = nlohmann::ordered_json::parse(body, nullptr, false);
  const std::string detail = text_of(problem, "detail");
  if (detail.empty()) {
    return failure(ErrorCode::Corrupt,
                   fmt::format("the daemon answers with status {} and gives no reason", status));
  }
  return failure(to_error_code(text_of(problem, "code")), detail);
}

}  // namespace nutshell::api
