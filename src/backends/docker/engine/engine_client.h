// Speaks the Engine API of Docker, which podman answers too. Every call has a deadline and every
// answer a bound: an engine that hangs or rambles gives an error in time. Not thread-safe.
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

// Of what an engine does at once; starting and ending containers takes it longer.
inline constexpr std::chrono::seconds kAnswerTime{10};
inline constexpr std::chrono::seconds kStartTime{60};

class EngineClient {
 public:
  explicit EngineClient(EngineAddress address) : address_(std::move(address)) {}

  struct Request {
    std::string method = "GET";
    std::string path;                 // below the version: "/containers/json"
    std::string body = {};            // JSON, unless a type says otherwise
    std::string type = {};            //
    std::string registry_login = {};  // X-Registry-Auth
    std::chrono::seconds time = kAnswerTime;
  };
  struct Answer {
    int status = 0;
    std::string body;
  };
  // The engine's own words for anything but a success, with a code made of its status.
  Result<Answer> call(const Request& request);

  // A line of the answer each time, as they come. A silence longer than the request's time is an
  // error; so is a line longer than a megabyte.
  using LineVisitor = std::function<Result<>(std::string_view line)>;
  Result<> stream_lines(const Request& request, const LineVisitor& visit);
  // The answer's bytes as they come, however many.
  using BytesVisitor = std::function<Result<>(std::string_view bytes)>;
  Result<> stream_bytes(const Request& request, const BytesVisitor& visit);

  // With a body that is made while it is sent: at most so many bytes each time; empty: the end.
  using Source = std::function<Result<std::string>(std::size_t most)>;
  Result<Answer> upload(const Request& request, Source source);

  // The connection itself, as the engine hands it over: what follows is the container's.
  Result<http::Client::Upgraded> hijack(const Request& request);

  [[nodiscard]] const EngineAddress& address() const { return address_; }
  // "1.41": the newest that both sides know; asked for once.
  Result<std::string> version();
  // Whether it answers at all, which every engine does at once.
  Result<> ping(std::chrono::seconds time);
  // Whether it is podman that answers; known with the version.
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
