#include <nlohmann/json.hpp>

#include "core/network_report.h"
#include "server/http/route.h"
#include "server/http/views.h"
#include "service/sandboxes/sandbox_network.h"

namespace nutshell::server {
namespace {

Result<> get_network(Call& call) {
  return reply(call, 200, to_json(TRY(call.service.network().status(call.caller, call.id()))));
}

Result<> set_network(Call& call) {
  NetworkPolicy policy;
  TRY(read_json(call.body, policy));
  return reply(call, 200, to_json(TRY(call.service.network().set(call.caller, call.id(), policy))));
}

Result<> list_events(Call& call) {
  const std::uint64_t after = TRY(number_parameter(call, "after", 0));
  const auto found = TRY(call.service.network().events(call.caller, call.id(), after));
  return reply(call, 200, {{"events", to_json(found)}});
}

const Shape& network_events_shape() {
  static const Shape kShape{
      "NetworkEvents",
      {{"events", Field::Type::ObjectList, "oldest first; at most 1024 are kept",
        Field::Presence::Required, shape_of<NetworkEvent, Direction::Given>}}};
  return kShape;
}

Route on_network(const char* method, const char* what, const char* name, const char* summary) {
  return {.method = method,
          .path = std::string("/v1/sandboxes/{id}/network") + what,
          .name = name,
          .summary = summary,
          .handle = nullptr,
          .gives = shape_of<NetworkStatus, Direction::Given>};
}

}  // namespace

std::vector<Route> network_routes() {
  Route see = on_network("GET", "", "getNetwork", "What it may reach, and what it used");
  see.handle = get_network;
  Route change = on_network("PUT", "", "setNetwork",
                            "Change what it may reach; ends connections that are not allowed now");
  change.handle = set_network;
  change.takes = shape_of<NetworkPolicy, Direction::Taken>;
  change.body = Route::Body::Object;
  Route list = on_network("GET", "/events", "listNetworkEvents",
                          "Connections and look-ups of names that its commands tried");
  list.handle = list_events;
  list.gives = network_events_shape;
  list.query = {{.name = "after",
                 .type = Field::Type::Integer,
                 .help = "only events with a greater number",
                 .least = 0}};
  return {see, change, list};
}

}  // namespace nutshell::server
