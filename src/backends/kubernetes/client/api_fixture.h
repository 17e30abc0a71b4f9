// An API server of the test's own, which answers a script, and a client for it.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/kubernetes/client/api_client.h"
#include "http/server_fixture.h"

namespace nutshell::kubernetes {

// Gives "token-1", and after each renew() the next.
class CountedCredentials : public Credentials {
 public:
  Result<Credential> current(const Deadline& /*it is there*/) override {
    return Credential{"token-" + std::to_string(number_), {}, {}};
  }
  void renew() override { ++number_; }

 private:
  int number_ = 1;
};

class ApiTest : public http::ServerTest {
 protected:
  using Step = std::function<void(http::Exchange&)>;
  struct Seen {
    std::string line;  // "GET /path?query"
    std::string authorization;
    std::string body;
  };

  // Starts a server that answers one request after the other; those beyond the script get 418.
  void script(std::vector<Step> steps) {
    steps_ = std::move(steps);
    start([this](http::Exchange& exchange) { serve(exchange); });
  }

  static Step answer(int status, std::string body, http::Headers headers = {}) {
    return [=](http::Exchange& exchange) { (void)exchange.respond(status, headers, body); };
  }
  static Step refusal(int status, const std::string& reason, const std::string& message = "no") {
    return answer(status, R"({"kind": "Status", "status": "Failure", "reason": ")" + reason +
                              R"(", "message": ")" + message + R"(", "code": )" +
                              std::to_string(status) + "}");
  }
  // The connection breaks in the middle of an answer.
  static Step hang_up() {
    return [](http::Exchange& exchange) {
      (void)exchange.begin_stream(200, {});
      (void)exchange.write("{\"half\": ");
    };
  }

  ApiClient api() {
    Endpoint endpoint;
    endpoint.dial = http::dial_unix(path_);
    endpoint.transport_for = [](const Credential&) -> Result<http::MakeTransport> {
      return http::MakeTransport(http::make_bare_transport);
    };
    endpoint.host = "api.test";
    endpoint.prefix = "/prefix";
    Backoff backoff;
    backoff.pause = [this](Clock::duration pause) { pauses_.push_back(pause); };
    return {std::move(endpoint), std::make_unique<CountedCredentials>(), std::move(backoff)};
  }

  std::vector<Seen> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::vector<std::string> lines() {
    std::vector<std::string> all;
    for (const Seen& one : seen())
      all.push_back(one.line);
    return all;
  }

  std::vector<Clock::duration> pauses_;

 private:
  static std::string line_of(const http::Exchange& exchange) {
    std::string line = exchange.method() + " " + exchange.target().path;
    char before = '?';
    for (const auto& [name, value] : exchange.target().query) {
      line += before + name + "=" + value;
      before = '&';
    }
    return line;
  }

  void serve(http::Exchange& exchange) {
    Step step = answer(418, "beyond the script");
    Seen one{line_of(exchange), std::string(exchange.headers().get("Authorization")),
             exchange.read_body(1U << 20U).value_or("")};
    {
      const std::lock_guard lock(mutex_);
      if (seen_.size() < steps_.size()) step = steps_[seen_.size()];
      seen_.push_back(std::move(one));
    }
    step(exchange);
  }

  std::mutex mutex_;
  std::vector<Step> steps_;
  std::vector<Seen> seen_;
};

}  // namespace nutshell::kubernetes
