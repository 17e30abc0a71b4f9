// Requests to one of our daemons, over its Unix socket, TCP or TLS. Not thread-safe.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/daemon_access.h"
#include "http/client.h"
#include "http/stream_relays.h"

namespace nutshell::api {

class ApiClient {
 public:
  explicit ApiClient(DaemonAccess access);
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  // Sends a request with a JSON body. Errors name the daemon; a refusal is no error but a response.
  Result<http::Client::Response> send(const std::string& method, const std::string& target,
                                      const std::string& body = {});
  // Sends a request and returns the JSON of the response; null if its body is empty. A problem
  // document becomes the error that it describes.
  Result<nlohmann::ordered_json> ask(const std::string& method, const std::string& target,
                                     const std::string& body = {});

  struct Upgraded {
    int status = 0;
    http::Headers headers;
    UniqueFd socket;   // with 101: carries the new protocol; it ends with this object at the latest
    std::string body;  // with any other status
  };
  // Asks for another protocol, on a connection of its own.
  Result<Upgraded> upgrade(const std::string& target, const std::string& body,
                           std::string_view protocol);

  [[nodiscard]] const DaemonAccess& access() const { return access_; }
  // Sets how long a response may take.
  void set_patience(std::chrono::milliseconds time) { patience_ = time; }

 private:
  [[nodiscard]] http::Client::Options options();
  [[nodiscard]] http::Client::Request request(const std::string& method, const std::string& target,
                                              const std::string& body) const;
  Result<std::unique_ptr<http::Transport>> begin_tls(const std::string& host, UniqueFd socket);

  DaemonAccess access_;
  std::chrono::milliseconds patience_{120'000};
  http::MakeTransport make_tls_;  // made for the first connection
  http::StreamRelays relays_;     // sockets for streams inside TLS
  http::Client client_;
};

// Makes the body of a request. Names and values that are not UTF-8 cannot be sent.
Result<std::string> body_of(const nlohmann::ordered_json& request);

// The error that a problem document describes.
Failure problem_of(int status, const std::string& body);

}  // namespace nutshell::api
