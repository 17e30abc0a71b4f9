#include "backends/kubernetes/client/api_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>
#include <thread>

#include "backends/kubernetes/client/api_error.h"
#include "base/random_id.h"
#include "core/json_members.h"
#include "core/json_text.h"
#include "http/tls/tls.h"

namespace nutshell::kubernetes {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr std::size_t kMostAnswerBytes = 32U << 20U;
constexpr auto kAttemptTime = 10s;  // a server that hangs is asked again over a new connection
constexpr const char* kMakerAnnotation = "nutshell.sandbox/maker";

Result<Json> parse_answer(std::string_view body) {
  auto document = parse_strict(body, {.values = 4'000'000});
  if (!document)
    return failure(ErrorCode::Corrupt, "Kubernetes answers: " + document.error().message);
  return document;
}

http::Client::Options options_for(const Endpoint& endpoint, http::MakeTransport transport) {
  http::Client::Options options;
  options.dial = endpoint.dial;
  options.make_transport = std::move(transport);
  options.host = endpoint.host;
  return options;
}

http::Headers headers_for(const Credential& credential) {
  // Errors of the kubelet are plain text: where only JSON is taken, the server answers 406 instead.
  http::Headers headers{{"Accept", "application/json, */*"}, {"User-Agent", "nutshell"}};
  if (!credential.token.empty()) headers.add("Authorization", "Bearer " + credential.token);
  return headers;
}

std::string maker_of(const Json& object) {
  const Json* metadata = member(object, "metadata");
  const Json* annotations = metadata == nullptr ? nullptr : member(*metadata, "annotations");
  return annotations == nullptr ? std::string() : text_of(*annotations, kMakerAnnotation);
}

}  // namespace

Endpoint endpoint_of(const Access& access) {
  Endpoint endpoint;
  endpoint.dial = http::dial_tcp(access.server.host, access.server.port);
  endpoint.transport_for = [name = access.server_name,
                            authority = access.authority](const Credential& credential) {
    return http::tls_client_of({name, authority, credential.certificate, credential.key});
  };
  const std::string& host = access.server.host;
  const std::string shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
  endpoint.host =
      access.server.port == 443 ? shown : fmt::format("{}:{}", shown, access.server.port);
  endpoint.prefix = access.server.prefix;
  return endpoint;
}

std::string core_path(const std::string& name_space, const std::string& kind,
                      const std::string& name) {
  std::string path =
      fmt::format("/api/v1/namespaces/{}/{}", http::percent_encode(name_space), kind);
  if (!name.empty()) path += "/" + http::percent_encode(name);
  return path;
}

// The outcome of one attempt: an answer, or an error that says whether to try again.
struct ApiClient::Attempt {
  Result<Json> answer = Json();
  bool was_refused = false;  // the server said that it did nothing
  bool may_pass = false;     // a later attempt may succeed
  bool was_unknown_user = false;
  std::optional<std::chrono::seconds> retry_after = std::nullopt;
};

Result<http::Headers> ApiClient::prepare(const Deadline& deadline) {
  Credential credential = TRY(credentials_->current(deadline));
  const bool has_other_identity =
      credential.certificate != shown_.certificate || credential.key != shown_.key;
  if (!client_ || has_other_identity) {
    auto transport = TRY(endpoint_.transport_for(credential));
    client_ = std::make_unique<http::Client>(options_for(endpoint_, std::move(transport)));
  }
  shown_ = std::move(credential);
  return headers_for(shown_);
}

ApiClient::Attempt ApiClient::attempt(const Request& request, const Deadline& deadline) {
  Attempt result;
  auto headers = prepare(deadline);
  if (!headers) {
    result.answer = Failure(std::move(headers).error());
    return result;
  }
  http::Client::Request sent{request.method, endpoint_.prefix + request.path, std::move(*headers),
                             request.body};
  if (!request.body.empty()) sent.headers.add("Content-Type", request.type);
  auto response = client_->send(sent, deadline, kMostAnswerBytes);
  if (!response) {
    client_->close();
    const ErrorCode code = response.error().code;
    result.may_pass = code == ErrorCode::Unavailable || code == ErrorCode::DeadlineExceeded ||
                      code == ErrorCode::Corrupt;
    result.answer =
        Failure(while_doing(fmt::format("ask Kubernetes at {}", endpoint_.host), response.error()));
    return result;
  }
  if (response->status >= 200 && response->status < 300) {
    result.answer = parse_answer(response->body);
    result.may_pass = true;  // half an object may be whole the next time
    return result;
  }
  const ApiRefusal refusal =
      read_refusal(response->status, response->body, response->headers.get("Retry-After"));
  result.was_unknown_user = refusal.status == 401;
  result.was_refused = refusal.status == 429 || refusal.status == 401;
  result.may_pass = is_passing(refusal.status);
  result.retry_after = refusal.retry_after;
  result.answer = Failure(error_of(refusal));
  return result;
}

bool ApiClient::pause_before(int attempt, std::optional<std::chrono::seconds> wish,
                             const Deadline& deadline) const {
  Clock::duration pause = backoff_.first;
  for (int i = 1; i < attempt && pause < backoff_.longest; ++i)
    pause *= 2;
  pause = std::min<Clock::duration>(pause, backoff_.longest);
  // Half of it is random, so that clients that were refused together do not come back together.
  pause = pause / 2 + pause / 2 * static_cast<int>(random_number() % 1000) / 1000;
  if (wish) pause = std::max<Clock::duration>(pause, *wish);
  const auto left =
      std::chrono::milliseconds(deadline.is_never() ? INT_MAX : deadline.poll_timeout());
  if (pause >= left) return false;
  if (backoff_.pause) {
    backoff_.pause(pause);
  } else {
    std::this_thread::sleep_for(pause);
  }
  return true;
}

Result<Json> ApiClient::call(const Request& request) {
  const Deadline deadline = Deadline::in(request.time);
  bool has_renewed = false;
  for (int attempts = 1;; ++attempts) {
    Attempt tried = attempt(request, earlier(deadline, Deadline::in(kAttemptTime)));
    if (tried.answer) return std::move(tried.answer);
    const bool may_renew = tried.was_unknown_user && !std::exchange(has_renewed, true);
    if (may_renew) {
      credentials_->renew();
      continue;
    }
    const bool is_repeatable =
        tried.may_pass && (request.repeat == Repeat::Always || tried.was_refused);
    if (!is_repeatable || !pause_before(attempts, tried.retry_after, deadline))
      return std::move(tried.answer);
  }
}

// A request without a clear answer is repeated; the annotation then tells our object from
// another's.
Result<Json> ApiClient::create(const std::string& collection, Json object) {
  const std::string maker = random_id(32);
  object["metadata"]["annotations"][kMakerAnnotation] = maker;
  auto made = call({.method = "POST", .path = collection, .body = dump_json(object)});
  if (made || made.error().code != ErrorCode::AlreadyExists) return made;
  const std::string name = text_of(object["metadata"], "name");
  auto there = call({.path = collection + "/" + http::percent_encode(name)});
  const bool is_ours = there && maker_of(*there) == maker;
  return is_ours ? std::move(there) : std::move(made);
}

Result<Json> ApiClient::update(const std::string& path, const Change& change) {
  const Deadline deadline = Deadline::in(Request().time);
  for (int attempts = 1;; ++attempts) {
    Json object = TRY(call({.path = path}));
    TRY(change(object));
    // A repeated write whose first answer was lost is refused as a conflict, and then read again.
    auto written = call({.method = "PUT", .path = path, .body = dump_json(object)});
    if (written || written.error().code != ErrorCode::Conflict) return written;
    if (!pause_before(attempts, std::nullopt, deadline)) return written;
  }
}

Result<ApiClient::Line> ApiClient::open_line(const Deadline& deadline) {
  const Credential credential = TRY(credentials_->current(deadline));
  auto transport = TRY(endpoint_.transport_for(credential));
  return Line{std::make_unique<http::Client>(options_for(endpoint_, std::move(transport))),
              headers_for(credential), endpoint_.prefix};
}

}  // namespace nutshell::kubernetes
