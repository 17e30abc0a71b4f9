// A client of Docker's Engine API, which podman implements too. Every call has a deadline and every
// answer a maximal size. Not thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/docker/engine/engine_address.h"
#include "base/deadline.h"
#include "base/result.h"
#include "http/client.h"

namespace nutshell::docker {

// The deadlines of quick calls, and of those that start or end a container.
inline constexpr std::chrono::seconds kAnswerTime{10};
inline constexpr std::chrono::seconds kStartTime{60};

class EngineClient {
 public:
  explicit EngineClient(EngineAddress address) : address_(std::move(address)) {}

  struct Request {
    std::string method = "GET";
    std::string path;                 // below the version: "/containers/json"
    std::string body = {};            // JSON unless `type` says otherwise
    std::string type = {};            // Content-Type
    std::string registry_login = {};  // X-Registry-Auth
    std::chrono::seconds time = kAnswerTime;
  };
  struct Answer {
    int status = 0;
    std::string body;
  };
  // An answer other than a success becomes an error with the engine's message.
  Result<Answer> call(const Request& request);

  // Calls `visit` for each line of the answer as it arrives. Fails if nothing arrives for as long
  // as the request's time, or if a line is longer than a megabyte.
  using LineVisitor = std::function<Result<>(std::string_view line)>;
  Result<> stream_lines(const Request& request, const LineVisitor& visit);
  // The same for pieces of the answer; there is no maximal size.
  using BytesVisitor = std::function<Result<>(std::string_view bytes)>;
  Result<> stream_bytes(const Request& request, const BytesVisitor& visit);

  // Sends a body in pieces: `source` returns at most `most` bytes, and an empty piece at the end.
  using Source = std::function<Result<std::string>(std::size_t most)>;
  Result<Answer> upload(const Request& request, Source source);

  // Turns the connection into the container's stream.
  Result<http::Client::Upgraded> hijack(const Request& request);

  [[nodiscard]] const EngineAddress& address() const { return address_; }
  // The newest API version that both sides know, such as "1.41"; asked for once.
  Result<std::string> version();
  // Asks for nothing but an answer, which takes a working engine milliseconds.
  Result<> ping(std::chrono::seconds time);
  // Whether the engine is podman; valid after version().
  [[nodiscard]] bool is_podman() const { return is_podman_; }

 private:
  Result<http::Client*> client();
  Result<http::Client::Request> make_request(const Request& request);
  Result<Answer> ask(const http::Client::Request& made, std::chrono::seconds time);
  Result<http::Client::Response> send(const http::Client::Request& request,
                                      const Deadline& deadline);

  EngineAddress address_;
  std::optional<http::Client> client_;
  std::string version_;
  bool is_podman_ = false;
};

// "1.9" is older than "1.41".
bool is_older(std::string_view version, std::string_view than);

}  // namespace nutshell::docker
