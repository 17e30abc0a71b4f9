// Requests to a daemon of ours, wherever it listens. Not thread-safe.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api_client/bridge.h"
#include "core/daemon_access.h"
#include "http/client.h"

namespace nutshell::api {

class ApiClient {
 public:
  // `programs`: the directory of our programs, one of which is the bridge to TCP.
  ApiClient(DaemonAccess access, const std::filesystem::path& programs);
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  // `body`: JSON. Errors name the daemon; a refusal is an answer.
  Result<http::Client::Response> send(const std::string& method, const std::string& target,
                                      const std::string& body = {});
  // What it answers, null where that is nothing; a problem document becomes the error that it
  // describes.
  Result<nlohmann::ordered_json> ask(const std::string& method, const std::string& target,
                                     const std::string& body = {});
  // On a connection of its own.
  Result<http::Client::RawAnswer> upgrade(const std::string& target, const std::string& body,
                                          std::string_view protocol);

  [[nodiscard]] const DaemonAccess& access() const { return access_; }
  // For what takes long: an answer may take this much.
  void set_patience(std::chrono::milliseconds time) { patience_ = time; }

 private:
  [[nodiscard]] http::Client::Options options();
  [[nodiscard]] http::Client::Request request(const std::string& method, const std::string& target,
                                              const std::string& body) const;

  DaemonAccess access_;
  std::chrono::milliseconds patience_{120'000};
  Bridges bridges_;
  http::Client client_;
};

// A request's body. Names and values that are no UTF-8 cannot be sent.
Result<std::string> body_of(const nlohmann::ordered_json& request);

// The error that a problem document tells of.
Failure problem_of(int status, const std::string& body);

}  // namespace nutshell::api
