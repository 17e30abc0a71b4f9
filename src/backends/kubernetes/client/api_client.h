// A client of the Kubernetes API over our own HTTP: TLS always verified, a deadline on every call,
// retries with back-off. Answers are checked as hostile input. Not thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "backends/kubernetes/client/access.h"
#include "backends/kubernetes/client/credentials.h"
#include "base/deadline.h"
#include "base/result.h"
#include "http/client.h"

namespace nutshell::kubernetes {

// Where the API server is. Tests give one of their own, without TLS, on a Unix socket.
struct Endpoint {
  http::Dial dial;
  std::function<Result<http::MakeTransport>(const Credential&)> transport_for;
  std::string host;    // for the Host header
  std::string prefix;  // of every path
};
Endpoint endpoint_of(const Access& access);

// Waits between attempts; tests count the waits instead.
struct Backoff {
  std::chrono::milliseconds first{50};
  std::chrono::milliseconds longest{5000};
  std::function<void(Clock::duration)> pause = nullptr;  // nullptr: sleeps
};

class ApiClient {
 public:
  ApiClient(Endpoint endpoint, std::unique_ptr<Credentials> credentials, Backoff backoff = {})
      : endpoint_(std::move(endpoint)),
        credentials_(std::move(credentials)),
        backoff_(std::move(backoff)) {}

  // Which answers a request is sent again after.
  enum class Repeat {
    Always,     // it may be done twice: also after an answer that tells nothing, and after none
    IfRefused,  // only after the server said that it did nothing
  };
  struct Request {
    std::string method = "GET";
    std::string path;       // with its query: "/api/v1/namespaces/x/pods?limit=1"
    std::string body = {};  // JSON
    std::string type = "application/json";
    std::chrono::milliseconds time{30'000};  // for all attempts together
    Repeat repeat = Repeat::Always;
  };
  // Returns the object of the answer. A refusal is an error with the server's reason.
  Result<nlohmann::json> call(const Request& request);

  // Makes an object in a collection. Exactly one of several callers that make the same name
  // succeeds; the others get AlreadyExists, however many attempts each needed.
  Result<nlohmann::json> create(const std::string& collection, nlohmann::json object);

  // Reads the object, changes it and writes it back; begins again if another writer came between.
  using Change = std::function<Result<>(nlohmann::json& object)>;
  Result<nlohmann::json> update(const std::string& path, const Change& change);

  // A connection of its own for a stream, with the headers to send.
  struct Line {
    std::unique_ptr<http::Client> client;
    http::Headers headers;
    std::string prefix;
  };
  Result<Line> open_line(const Deadline& deadline);
  // Called when a line's request was answered with 401.
  void renew_credentials() { credentials_->renew(); }

  // Waits before attempt number `attempt`, from 1. False if the deadline would pass first.
  bool pause_before(int attempt, std::optional<std::chrono::seconds> wish,
                    const Deadline& deadline) const;

 private:
  struct Attempt;
  Result<http::Headers> prepare(const Deadline& deadline);
  Attempt attempt(const Request& request, const Deadline& deadline);

  Endpoint endpoint_;
  std::unique_ptr<Credentials> credentials_;
  Backoff backoff_;
  Credential shown_;  // to the server, when client_ was made
  std::unique_ptr<http::Client> client_;
};

// "/api/v1/namespaces/NAMESPACE/KIND[/NAME]", escaped.
std::string core_path(const std::string& name_space, const std::string& kind,
                      const std::string& name = {});

}  // namespace nutshell::kubernetes
