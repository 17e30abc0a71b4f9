#include "server/grpc/methods.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nutshell/v1/nutshell.pb.h"
#include "server/grpc/message_json.h"
#include "server/http/metrics_text.h"
#include "server/http/route.h"
#include "service/health.h"

namespace nutshell::server {
namespace {

namespace pb = google::protobuf;

// "/v1/sandboxes/{id}/exec/{exec}" has id and exec.
std::vector<std::string> names_in(std::string_view path) {
  std::vector<std::string> names;
  for (std::size_t begin = path.find('{'); begin != path.npos; begin = path.find('{', begin + 1)) {
    const std::size_t end = path.find('}', begin);
    names.emplace_back(path.substr(begin + 1, end - begin - 1));
  }
  return names;
}

Json taken(Json& object, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end()) return nullptr;
  Json value = std::move(*found);
  object.erase(found);
  return value;
}

Result<std::vector<std::string>> take_captured(Json& object, const Route& route) {
  std::vector<std::string> captured;
  for (const std::string& name : names_in(route.path)) {
    const Json value = taken(object, name);
    std::string text = value.is_string() ? value.get<std::string>() : std::string();
    if (text.empty() || text.find('\0') != text.npos) {
      return failure(ErrorCode::InvalidArgument, fmt::format("the field '{}' is missing", name));
    }
    captured.push_back(std::move(text));
  }
  return captured;
}

http::Target take_query(Json& object, const Route& route) {
  http::Target target;
  const auto add = [&](const std::string& name, const Json& value) {
    target.query.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  };
  for (const Parameter& parameter : route.query) {
    const Json value = taken(object, parameter.name);
    if (value.is_array()) {
      for (const Json& one : value)
        add(parameter.name, one);
    } else if (!value.is_null()) {
      add(parameter.name, value);
    }
  }
  return target;
}

// Distributes the fields of a message to the path, the query and the body of the route; a tool's
// arguments are the whole body.
Result<> serve_route(const Route& route, RpcCall& rpc) {
  Json body = to_json(rpc.request);
  auto captured = TRY(take_captured(body, route));
  const http::Target target = take_query(body, route);
  if (rpc.request.GetDescriptor()->FindFieldByName("arguments") != nullptr) {
    Json arguments = taken(body, "arguments");
    body = arguments.is_null() ? Json::object() : std::move(arguments);
  }
  TRY(check_query(route, target));
  if (route.takes) TRY(check_shape(body, route.takes()));
  Call call{nullptr,
            rpc.service,
            rpc.caller,
            std::move(captured),
            body,
            target,
            rpc.idempotency_key(),
            [&](int /*a reply is a success*/, const Json& said) -> Result<> {
              if (said.is_object()) fill(rpc.reply, said);
              return {};
            },
            [&rpc] { return rpc.rpc.is_gone(); },
            [&rpc] { return rpc.rpc.gone_descriptor(); }};
  auto done = route.handle(call);
  if (!done) note_denial(call, done.error());
  if (!done) return Failure(explained(call, route, done.error()));
  return done;
}

std::string lower_first(std::string name) {
  name[0] = static_cast<char>(name[0] | 0x20);
  return name;
}

RpcHandler route_handler(const std::vector<Route>& routes, const std::string& method) {
  const std::string name = lower_first(method);
  const auto found = std::find_if(routes.begin(), routes.end(),
                                  [&](const Route& route) { return route.name == name; });
  if (found == routes.end()) return nullptr;
  return [route = *found](RpcCall& call) { return serve_route(route, call); };
}

auto maker_of(const pb::Descriptor* type) {
  const pb::Message* prototype = pb::MessageFactory::generated_factory()->GetPrototype(type);
  return [prototype] { return std::unique_ptr<pb::Message>(prototype->New()); };
}

Result<> metrics(RpcCall& call) {
  static_cast<v1::MetricsText&>(call.reply)
      .set_text(metrics_text(call.service.health().metrics(call.caller)) +
                metrics_text(call.more_metrics()));
  return {};
}

}  // namespace

std::vector<Method> daemon_methods() {
  return {{"Metrics", metrics}};
}

Result<std::vector<Method>> all_methods() {
  std::vector<Method> special;
  for (auto* part : {daemon_methods, exec_methods, batch_methods, file_methods}) {
    std::vector<Method> some = part();
    std::move(some.begin(), some.end(), std::back_inserter(special));
  }
  const std::vector<Route> routes = api_routes();
  const pb::ServiceDescriptor& service =
      *v1::Sandbox::descriptor()->file()->FindServiceByName("Nutshell");
  std::vector<Method> methods;
  for (int i = 0; i < service.method_count(); ++i) {
    const pb::MethodDescriptor& described = *service.method(i);
    Method method{described.name(), nullptr};
    const auto own = std::find_if(special.begin(), special.end(),
                                  [&](const Method& one) { return one.name == method.name; });
    method.handle = own != special.end() ? own->handle : route_handler(routes, method.name);
    if (!method.handle) {
      return failure(ErrorCode::Internal,
                     fmt::format("the gRPC method {} has no handler", method.name));
    }
    method.make_request = maker_of(described.input_type());
    method.make_reply = maker_of(described.output_type());
    method.streams_reply = described.server_streaming();
    method.service = service.full_name();
    methods.push_back(std::move(method));
  }
  return methods;
}

}  // namespace nutshell::server
