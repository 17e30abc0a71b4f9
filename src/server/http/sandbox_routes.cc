#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/http/requests.h"
#include "server/http/route.h"
#include "server/http/shapes.h"
#include "server/http/views.h"

namespace nutshell::server {
namespace {

Result<> create(Call& call) {
  service::CreateRequest request;
  request.spec = TRY(spec_of(call.body, call.caller));
  request.idempotency_key = call.idempotency_key;
  return reply_new_sandbox(call, TRY(call.service.create(call.caller, request)));
}

Result<> list(Call& call) {
  service::ListRequest request = TRY(list_request_of(call));
  request.has_protections = text_parameter(call, "protections") == "true";
  const auto page = TRY(call.service.list(call.caller, request));
  Json body;
  Json& sandboxes = body["sandboxes"] = Json::array();
  for (const service::SandboxView& view : page.sandboxes)
    sandboxes.push_back(to_json(view));
  body["next_cursor"] = cursor_json(page.next_cursor);
  return reply(call, 200, body);
}

Result<> find(Call& call) {
  return reply(call, 200, to_json(TRY(call.service.find(call.caller, call.id()))));
}

Result<> destroy(Call& call) {
  TRY(call.service.destroy(call.caller, call.id()));
  return reply_nothing(call);
}

Result<> pause(Call& call) {
  return reply(call, 200, to_json(TRY(call.service.pause(call.caller, call.id()))));
}

Result<> resume(Call& call) {
  return reply(call, 200, to_json(TRY(call.service.resume(call.caller, call.id()))));
}

Result<> extend(Call& call) {
  const auto ttl = time_of(call.body, "ttl_ms", {});
  return reply(call, 200, to_json(TRY(call.service.extend(call.caller, call.id(), ttl))));
}

Result<> stats(Call& call) {
  return reply(call, 200, to_json(TRY(call.service.stats(call.caller, call.id()))));
}

Result<> check(Call& call) {
  const SandboxSpec spec = TRY(spec_of(call.body, call.caller));
  const Protections protections = TRY(call.service.check(call.caller, spec));
  return reply(call, 200, {{"protections", to_json(protections)}});
}

Route on_one(const char* method, const char* what, const char* name, const char* summary) {
  return {.method = method,
          .path = std::string("/v1/sandboxes/{id}") + what,
          .name = name,
          .summary = summary,
          .handle = nullptr,
          .gives = shape_of<SandboxStatus, Direction::Given>};
}

}  // namespace

Json cursor_json(const std::string& cursor) {
  return cursor.empty() ? Json(nullptr) : Json(cursor);
}

std::vector<Parameter> list_parameters() {
  return {{.name = "label", .help = "NAME=VALUE; several: all of them"},
          {.name = "cursor", .help = "next_cursor of the page before"},
          {.name = "limit",
           .type = Field::Type::Integer,
           .help = "at most so many (100)",
           .least = 1,
           .most = 1000}};
}

Result<service::ListRequest> list_request_of(const Call& call) {
  service::ListRequest request;
  for (const auto& [name, value] : call.target.query) {
    if (name != "label") continue;
    const std::size_t equals = value.find('=');
    if (equals == std::string::npos || equals == 0) {
      return failure(ErrorCode::InvalidArgument, "the parameter 'label' must be NAME=VALUE");
    }
    request.labels[value.substr(0, equals)] = value.substr(equals + 1);
  }
  request.cursor = text_parameter(call, "cursor");
  request.most = TRY(number_parameter(call, "limit", 100));
  if (request.most < 1 || request.most > 1000) {
    return failure(ErrorCode::InvalidArgument, "the parameter 'limit' must be 1 to 1000");
  }
  return request;
}

std::vector<Route> sandbox_routes() {
  Route create_one{.method = "POST",
                   .path = "/v1/sandboxes",
                   .name = "createSandbox",
                   .summary = "Make a sandbox",
                   .handle = create,
                   .takes = shape_of<SandboxSpec, Direction::Taken>,
                   .gives = shape_of<SandboxStatus, Direction::Given>,
                   .success = 201,
                   .body = Route::Body::Object,
                   .takes_idempotency_key = true};
  Route list_all{.method = "GET",
                 .path = "/v1/sandboxes",
                 .name = "listSandboxes",
                 .summary = "The caller's sandboxes, in pages",
                 .handle = list,
                 .query = list_parameters(),
                 .gives = sandbox_page_shape};
  list_all.query.push_back({.name = "protections",
                            .type = Field::Type::Boolean,
                            .help = "with what protects each of them"});
  Route check_one{.method = "POST",
                  .path = "/v1/check",
                  .name = "checkSpec",
                  .summary = "What a sandbox of this spec would be protected by",
                  .handle = check,
                  .takes = shape_of<SandboxSpec, Direction::Taken>,
                  .gives = protections_shape,
                  .body = Route::Body::Object};
  Route find_one = on_one("GET", "", "getSandbox", "One sandbox");
  find_one.handle = find;
  Route destroy_one = on_one("DELETE", "", "destroySandbox", "End it, and all in it");
  destroy_one.handle = destroy;
  destroy_one.gives = nullptr;
  destroy_one.success = 204;
  Route pause_one = on_one("POST", "/pause", "pauseSandbox", "Stop its processes and its ttl");
  pause_one.handle = pause;
  Route resume_one = on_one("POST", "/resume", "resumeSandbox", "Let them go on");
  resume_one.handle = resume;
  Route extend_one = on_one("POST", "/extend", "extendSandbox", "Begin its ttl again");
  extend_one.handle = extend;
  extend_one.takes = extend_shape;
  extend_one.body = Route::Body::Object;
  Route stats_one = on_one("GET", "/stats", "getStats", "What it holds now and has used");
  stats_one.handle = stats;
  stats_one.gives = shape_of<SandboxStats, Direction::Given>;
  return {create_one, list_all,   check_one,  find_one, destroy_one,
          pause_one,  resume_one, extend_one, stats_one};
}

}  // namespace nutshell::server
