#include <unistd.h>

#include <nlohmann/json.hpp>

#include "server/http/problem.h"
#include "server/http/route.h"
#include "server/http/shapes.h"
#include "service/health.h"

namespace nutshell::server {
namespace {

Result<> health(Call& call) {
  return reply(call, 200, {{"status", "ok"}});
}

Result<> readiness(Call& call) {
  const std::string trouble = call.service.health().why_not_ready();
  if (trouble.empty()) {
    Json answer = {{"status", "ready"}};
    // The reason may reveal details of the host: only admitted callers get it.
    for (const auto& [backend, why] : call.service.health().unanswered_backends())
      answer["unanswered_backends"].push_back(backend);
    return reply(call, 200, answer);
  }
  return reply_problem(*call.exchange, 503, {ErrorCode::Unavailable, trouble});
}

Result<> describe_daemon(Call& call) {
  return reply(call, 200, {{"pid", ::getpid()}, {"api", "v1"}});
}

const Shape& daemon_shape() {
  static const Shape kShape{"Daemon", {{"pid", Field::Type::Integer}, {"api"}}};
  return kShape;
}

const Shape& status_shape() {
  static const Shape kShape{"Status",
                            {{"status", Field::Type::Text, "", Field::Presence::Required},
                             {"unanswered_backends", Field::Type::TextList,
                              "they have not answered since the daemon started"}}};
  return kShape;
}

}  // namespace

std::vector<Route> health_routes() {
  return {
      {.method = "GET",
       .path = "/healthz",
       .name = "health",
       .summary = "Whether the daemon answers",
       .handle = health,
       .gives = status_shape,
       .access = Route::Access::Anyone},
      {.method = "GET",
       .path = "/readyz",
       .name = "readiness",
       .summary = "Whether it can take work",
       .handle = readiness,
       .gives = status_shape,
       .access = Route::Access::Anyone},
      {.method = "GET",
       .path = "/metrics",
       .name = "metrics",
       .summary = "Figures, as Prometheus reads them",
       .handle =
           [](Call& call) { return reply_nothing(call); },  // the API answers it, with all metrics
       .media_type = "text/plain"},
      {.method = "GET",
       .path = "/v1/daemon",
       .name = "daemon",
       .summary = "Who answers",
       .handle = describe_daemon,
       .gives = daemon_shape},
      {.method = "GET",
       .path = "/v1/openapi.json",
       .name = "openapi",
       .summary = "This document",
       .handle = [](Call& call) { return reply_nothing(call); }}};
}

}  // namespace nutshell::server
