#include "backends/docker/engine/engine_client.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/docker/engine/engine_code.h"
#include "backends/docker/engine/engine_json.h"

namespace nutshell::docker {
namespace {

constexpr std::size_t kMostAnswerBytes = 16U << 20U;
constexpr std::size_t kMostLineBytes = 1U << 20U;
constexpr std::size_t kMostErrorBytes = 4096;
constexpr std::string_view kOldest = "1.41";
constexpr std::string_view kNewest = "1.51";

std::pair<int, int> numbers_of(std::string_view version) {
  std::pair<int, int> numbers{0, 0};
  const char* const end = version.data() + version.size();
  const auto major = std::from_chars(version.data(), end, numbers.first);
  if (major.ptr != end && *major.ptr == '.') std::from_chars(major.ptr + 1, end, numbers.second);
  return numbers;
}

// The message of {"message": "No such container: x"}, or the whole body, on one line.
std::string words_of(std::string_view body) {
  const auto document = parse_json(body);
  const std::string words = document ? text_of(*document, "message") : std::string();
  return printable(words.empty() ? body : std::string_view(words), kMostErrorBytes);
}

}  // namespace

bool is_older(std::string_view version, std::string_view than) {
  return numbers_of(version) < numbers_of(than);
}

Result<http::Client*> EngineClient::client() {
  if (!client_) client_.emplace(TRY(make_client(address_)));
  return &*client_;
}

Result<http::Client::Response> EngineClient::send(const http::Client::Request& request,
                                                  const Deadline& deadline) {
  http::Client* engine = TRY(client());
  auto response = engine->send(request, deadline, kMostAnswerBytes);
  if (response) return response;
  engine->close();
  Error error = std::move(response).error();
  if (error.code == ErrorCode::DeadlineExceeded) {
    error.message = fmt::format("no answer to {} {} in time", request.method,
                                request.target.substr(0, request.target.find('?')));
  }
  return while_doing(fmt::format("engine {}", address_.text()), std::move(error));
}

Result<std::string> EngineClient::version() {
  if (version_.empty()) TRY(ping(kAnswerTime));
  return version_;
}

Result<> EngineClient::ping(std::chrono::seconds time) {
  http::Client::Request request;
  request.target = "/_ping";
  auto sent = send(request, Deadline::in(time));
  if (!sent) {
    Error error = std::move(sent).error();
    error.message += advice_for(address_);
    return Failure(std::move(error));
  }
  const http::Client::Response& answer = *sent;
  const std::string newest(answer.headers.get("Api-Version"));
  if (answer.status != 200 || numbers_of(newest).first != 1) {
    // The answer of a Go server that expects TLS.
    const bool wants_tls = answer.body.find("HTTP request to an HTTPS server") != std::string::npos;
    return failure(ErrorCode::Corrupt,
                   fmt::format("engine {}: {}", address_.text(),
                               wants_tls ? "it expects TLS: set DOCKER_TLS_VERIFY and "
                                           "DOCKER_CERT_PATH, or choose a docker context"
                                         : "the answer is not that of a container engine"));
  }
  if (is_older(newest, kOldest)) {
    return failure(ErrorCode::Unsupported,
                   fmt::format("engine {} speaks API {}; at least {} is needed", address_.text(),
                               newest, kOldest));
  }
  is_podman_ = !answer.headers.get("Libpod-Api-Version").empty();
  version_ = is_older(newest, kNewest) ? newest : std::string(kNewest);
  return {};
}

Result<http::Client::Request> EngineClient::make_request(const Request& request) {
  const auto [major, minor] = numbers_of(TRY(version()));
  http::Client::Request made;
  made.method = request.method;
  made.target = fmt::format("/v{}.{}{}", major, minor, request.path);
  made.body = request.body;
  if (!request.body.empty())
    made.headers.add("Content-Type", request.type.empty() ? "application/json" : request.type);
  if (!request.registry_login.empty()) made.headers.add("X-Registry-Auth", request.registry_login);
  return made;
}

Result<EngineClient::Answer> EngineClient::call(const Request& request) {
  return ask(TRY(make_request(request)), request.time);
}

Result<EngineClient::Answer> EngineClient::upload(const Request& request, Source source) {
  auto made = TRY(make_request(request));
  made.headers.add("Content-Type", request.type);
  made.source = std::move(source);
  return ask(made, request.time);
}

Result<EngineClient::Answer> EngineClient::ask(const http::Client::Request& made,
                                               std::chrono::seconds time) {
  auto answer = TRY(send(made, Deadline::in(time)));
  if (answer.status >= 200 && answer.status < 400)
    return Answer{answer.status, std::move(answer.body)};
  const std::string words = words_of(answer.body);
  return failure(engine_code(answer.status, made.target, words),
                 fmt::format("engine: {} ({})", words, answer.status));
}

Result<> EngineClient::stream_bytes(const Request& request, const BytesVisitor& visit) {
  const auto made = TRY(make_request(request));
  http::Client engine = TRY(make_client(address_));
  const auto head = TRY(engine.begin(made, Deadline::in(request.time)));
  std::string refusal;
  for (;;) {
    const std::string piece = TRY(engine.read_part(64U << 10U, Deadline::in(request.time)));
    if (head.status < 400) {
      if (piece.empty()) return {};
      TRY(visit(piece));
      continue;
    }
    refusal += piece;
    if (piece.empty() || refusal.size() >= kMostErrorBytes) {
      const std::string words = words_of(refusal);
      return failure(engine_code(head.status, made.target, words),
                     fmt::format("engine: {}", words));
    }
  }
}

Result<> EngineClient::stream_lines(const Request& request, const LineVisitor& visit) {
  std::string held;
  TRY(stream_bytes(request, [&](std::string_view piece) -> Result<> {
    held += piece;
    std::size_t begin = 0;
    for (std::size_t end = held.find('\n'); end != std::string::npos;
         end = held.find('\n', begin)) {
      TRY(visit(std::string_view(held).substr(begin, end - begin)));
      begin = end + 1;
    }
    held.erase(0, begin);
    if (held.size() > kMostLineBytes)
      return failure(ErrorCode::Corrupt, "the engine sent a line that is too long");
    return {};
  }));
  return held.empty() ? Result<>() : visit(held);
}

Result<http::Client::Upgraded> EngineClient::hijack(const Request& request) {
  const auto made = TRY(make_request(request));
  http::Client engine = TRY(make_client(address_));
  return engine.upgrade(made, "tcp", Deadline::in(request.time));
}

}  // namespace nutshell::docker
