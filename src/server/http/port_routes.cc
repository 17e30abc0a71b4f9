#include <charconv>
#include <nlohmann/json.hpp>

#include "server/http/port_gateway.h"
#include "server/http/requests.h"
#include "server/http/route.h"
#include "server/http/shapes.h"
#include "service/execs/init_streams.h"

namespace nutshell::server {
namespace {

using enum Field::Type;
using enum Field::Presence;

Json port_json(const service::PortView& view) {
  const auto opened =
      std::chrono::duration_cast<std::chrono::milliseconds>(view.opened.time_since_epoch());
  return {{"port", view.port},
          {"path", path_of(view)},
          {"opened_ms", opened.count()},
          {"requests", view.requests}};
}

Result<> open(Call& call) {
  const auto port = static_cast<std::uint16_t>(number_of(call.body, "port", 0));
  return reply(call, 201,
               port_json(TRY(call.service.streams().ports().open(call.caller, call.id(), port))));
}

Result<> list(Call& call) {
  Json ports = Json::array();
  for (const auto& view : TRY(call.service.streams().ports().list(call.caller, call.id())))
    ports.push_back(port_json(view));
  return reply(call, 200, {{"ports", ports}});
}

Result<> close(Call& call) {
  const std::string& text = call.captured[1];
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) {
    return failure(ErrorCode::InvalidArgument, "a port is a number from 1 to 65535");
  }
  TRY(call.service.streams().ports().close(call.caller, call.id(), port));
  return reply_nothing(call);
}

const Shape& open_port_shape() {
  static const Shape kShape{"OpenPort",
                            {{.name = "port",
                              .type = Integer,
                              .help = "on which a server in the sandbox listens",
                              .presence = Required,
                              .least = 1,
                              .most = 65535}}};
  return kShape;
}

const Shape& port_shape() {
  static const Shape kShape{
      "Port",
      {{"port", Integer, "", Required},
       {"path", Text,
        "of its URL at this daemon, with a token: whoever has it may talk to the server", Required},
       {"opened_ms", Integer, "in milliseconds since 1970"},
       {"requests", Integer, "that were passed on so far"}}};
  return kShape;
}

const Shape& ports_shape() {
  static const Shape kShape{"Ports", {{"ports", ObjectList, "", Required, port_shape}}};
  return kShape;
}

Route on_ports(const char* method, const char* what, const char* name, const char* summary) {
  return {.method = method,
          .path = std::string("/v1/sandboxes/{id}/ports") + what,
          .name = name,
          .summary = summary,
          .handle = nullptr,
          .is_other_protocol = true};  // for people and browsers: no SDK needs the URL
}

}  // namespace

std::vector<Route> port_routes() {
  Route open_one = on_ports("POST", "", "openPort",
                            "Give a server in the sandbox a URL, until the sandbox ends");
  open_one.handle = open;
  open_one.takes = open_port_shape;
  open_one.gives = port_shape;
  open_one.success = 201;
  open_one.body = Route::Body::Object;
  Route list_all = on_ports("GET", "", "listPorts", "The ports that have a URL");
  list_all.handle = list;
  list_all.gives = ports_shape;
  Route close_one = on_ports("DELETE", "/{port}", "closePort", "Take the URL away");
  close_one.handle = close;
  close_one.success = 204;
  std::vector<Route> routes{open_one, list_all, close_one};
  for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
    Route pass =
        on_ports(method, "/{port}/{token}/...", "passToPort", "To the server in the sandbox");
    pass.handle = pass_to_port;
    pass.body = Route::Body::Bytes;
    pass.access = Route::Access::Anyone;  // it has the token
    routes.push_back(pass);
  }
  return routes;
}

}  // namespace nutshell::server
