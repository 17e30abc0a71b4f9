// The HTTP API: finds the route, lets the caller in, checks what was sent, calls, answers.
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/exchange.h"
#include "http/server.h"
#include "server/http/gate.h"
#include "server/http/route.h"
#include "service/model/metrics_view.h"
#include "service/service.h"
#include "telemetry/span.h"

namespace nutshell::server {

// For the log of the program.
struct Answered {
  std::string_view method;
  std::string_view path;
  int status = 0;
  std::string_view who;
  std::string_view tenant;
  std::chrono::microseconds duration{0};
};

class Api {
 public:
  struct Options {
    service::Service& service;
    Gate& gate;
    std::function<void(const Answered&)> log = [](const Answered&) {};
    std::vector<Route> more = {};          // of others that live in the same server
    telemetry::SpanSink* spans = nullptr;  // none: nobody wants any
    std::function<service::MetricsSnapshot()> more_metrics = [] {
      return service::MetricsSnapshot();
    };
  };
  explicit Api(Options options);

  void answer(http::Exchange& exchange);

  [[nodiscard]] const std::vector<Route>& routes() const { return routes_; }

 private:
  struct Found {
    const Route* route = nullptr;
    std::vector<std::string> captured;
    std::string allowed;  // other methods of the same path
  };
  [[nodiscard]] Found find(const http::Exchange& exchange) const;
  Result<> serve(http::Exchange& exchange, Found& found, service::Caller& caller);
  Result<> serve_body(http::Exchange& exchange, Found& found, const service::Caller& caller);

  Options options_;
  std::vector<Route> routes_;
  std::vector<std::vector<std::string>> patterns_;  // of each route, cut at the slashes
};

// The document that describes these routes (OpenAPI 3.0.3).
std::string openapi_of(const std::vector<Route>& routes);

}  // namespace nutshell::server
