#include "api_client/api_client.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace nutshell::api {
namespace {

constexpr std::size_t kMostAnswerBytes = 64U << 20U;

std::string text_of(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

ApiClient::ApiClient(DaemonAccess access, const std::filesystem::path& programs)
    : access_(std::move(access)), bridges_(programs / "nutshelld"), client_(options()) {}

http::Client::Options ApiClient::options() {
  http::Client::Options options;
  if (!access_.socket.empty()) {
    options.dial = [this](const Deadline& deadline) -> Result<UniqueFd> {
      auto socket = http::dial_unix(access_.socket)(deadline);
      if (socket) return socket;
      return failure(ErrorCode::Unavailable, "no daemon answers: 'nutshell daemon start' is one");
    };
    return options;
  }
  options.host = access_.url.substr(access_.url.find("://") + 3);
  options.dial = [this](const Deadline& /*the bridge has its own*/) {
    return bridges_.open(access_.url);
  };
  return options;
}

http::Client::Request ApiClient::request(const std::string& method, const std::string& target,
                                         const std::string& body) const {
  http::Client::Request request{.method = method, .target = target, .body = body};
  if (!body.empty()) request.headers.add("Content-Type", "application/json");
  if (!access_.token.empty()) request.headers.add("Authorization", "Bearer " + access_.token);
  return request;
}

Result<http::Client::Response> ApiClient::send(const std::string& method, const std::string& target,
                                               const std::string& body) {
  auto answer =
      client_.send(request(method, target, body), Deadline::in(patience_), kMostAnswerBytes);
  if (!answer) return while_doing(to_string(access_), std::move(answer).error());
  return answer;
}

Result<http::Client::RawAnswer> ApiClient::upgrade(const std::string& target,
                                                   const std::string& body,
                                                   std::string_view protocol) {
  // The connection of send() stays as it is: this one becomes something else.
  http::Client client(options());
  auto answer =
      client.ask_raw_upgrade(request("POST", target, body), protocol, Deadline::in(patience_));
  if (!answer) return while_doing(to_string(access_), std::move(answer).error());
  return answer;
}

Result<nlohmann::ordered_json> ApiClient::ask(const std::string& method, const std::string& target,
                                              const std::string& body) {
  const auto answer = TRY(send(method, target, body));
  if (answer.status >= 300 || answer.status < 200) return problem_of(answer.status, answer.body);
  if (answer.body.empty()) return nlohmann::ordered_json();
  auto object = nlohmann::ordered_json::parse(answer.body, nullptr, false);
  if (object.is_object()) return object;
  return failure(ErrorCode::Corrupt,
                 fmt::format("{}: what listens there is no daemon of ours", to_string(access_)));
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
    return failure(ErrorCode::Corrupt, fmt::format("the daemon answers {} and no reason", status));
  }
  return failure(to_error_code(text_of(problem, "code")), detail);
}

}  // namespace nutshell::api
