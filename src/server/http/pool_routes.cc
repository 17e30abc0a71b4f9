#include <nlohmann/json.hpp>

#include "server/http/requests.h"
#include "server/http/route.h"
#include "server/http/shapes.h"
#include "server/http/views.h"
#include "service/pools/pools.h"

namespace nutshell::server {
namespace {

constexpr auto kLongestWarming = std::chrono::seconds(60);

Result<> list(Call& call) {
  Json pools = Json::array();
  for (const service::PoolStatus& status : call.service.pools().status(call.caller))
    pools.push_back(to_json(status));
  return reply(call, 200, {{"pools", pools}});
}

Result<> find(Call& call) {
  for (const service::PoolStatus& status : call.service.pools().status(call.caller)) {
    if (status.name == call.id()) return reply(call, 200, to_json(status));
  }
  return failure(ErrorCode::NotFound, "there is no such pool");
}

Result<> acquire(Call& call) {
  const bool says_limits = call.body.contains("limits");
  const Limits of_pool =
      says_limits ? TRY(call.service.pools().limits_of(call.caller, call.id())) : Limits{};
  auto request = TRY(acquire_of(call.body, call.caller, of_pool));
  request.pool = call.id();
  request.idempotency_key = call.idempotency_key;
  request.is_wanted = [&call] { return !call.client_is_gone(); };
  return reply_new_sandbox(call, TRY(call.service.pools().acquire(call.caller, request)));
}

Result<> release(Call& call) {
  TRY(call.service.pools().release(call.caller, call.id()));
  return reply_nothing(call);
}

Result<> warm(Call& call) {
  const auto status =
      TRY(call.service.pools().warm(call.caller, call.id(), Deadline::in(kLongestWarming)));
  return reply(call, 200, to_json(status));
}

Result<> drain(Call& call) {
  const std::uint32_t ended = TRY(call.service.pools().drain(call.caller, call.id()));
  return reply(call, 200, {{"ended", ended}});
}

const Shape& drained_shape() {
  static const Shape kShape{"Drained",
                            {{"ended", Field::Type::Integer, "", Field::Presence::Required}}};
  return kShape;
}

}  // namespace

std::vector<Route> pool_routes() {
  return {{.method = "GET",
           .path = "/v1/pools",
           .name = "listPools",
           .summary = "The pools and how full they are",
           .handle = list,
           .gives = pools_shape},
          {.method = "GET",
           .path = "/v1/pools/{pool}",
           .name = "getPool",
           .summary = "One pool",
           .handle = find,
           .gives = shape_of<PoolStatus, Direction::Given>},
          {.method = "POST",
           .path = "/v1/pools/{pool}/acquire",
           .name = "acquire",
           .summary = "A sandbox of the pool",
           .handle = acquire,
           .takes = acquire_shape,
           .gives = shape_of<SandboxStatus, Direction::Given>,
           .success = 201,
           .body = Route::Body::Object,
           .takes_idempotency_key = true},
          {.method = "POST",
           .path = "/v1/sandboxes/{id}/release",
           .name = "release",
           .summary = "Give it back: it is destroyed, and a fresh one takes its place",
           .handle = release,
           .success = 204},
          {.method = "POST",
           .path = "/v1/pools/{pool}/warm",
           .name = "warmPool",
           .summary = "Wait until min_idle are ready",
           .handle = warm,
           .gives = shape_of<PoolStatus, Direction::Given>},
          {.method = "POST",
           .path = "/v1/pools/{pool}/drain",
           .name = "drainPool",
           .summary = "End what waits in it",
           .handle = drain,
           .gives = drained_shape}};
}

}  // namespace nutshell::server
