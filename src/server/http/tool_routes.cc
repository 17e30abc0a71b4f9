#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "server/http/requests.h"
#include "server/http/route.h"
#include "server/http/shapes.h"
#include "server/http/views.h"
#include "tools/registry.h"
#include "tools/schema.h"

namespace nutshell::server {
namespace {

Result<> catalogue_of_tools(Call& call) {
  Json tools = Json::array();
  for (const Tool& tool : tool_registry()) {
    tools.push_back(
        Json::parse(tool_schema(tool, Dialect::Nutshell, Annotations::Given), nullptr, false));
  }
  return reply(call, 200, {{"tools", tools}});
}

Json error_of(const std::optional<ToolError>& error) {
  if (!error) return nullptr;
  return {{"code", to_string(error->code)},
          {"what", error->what},
          {"why", error->why},
          {"next", error->next}};
}

Result<> call_one(Call& call) {
  const std::string& name = call.captured[1];
  TRY(find_tool(tool_registry(), name, ""));
  ToolRunnerOptions options;
  options.wants_fields = true;
  options.interrupt = call.gone_descriptor();  // ends the call when the client hangs up
  const auto done = TRY(call.service.call_tool(call.caller, call.id(), name, call.body, options));
  const ToolResult& result = done.result;
  Json body = {{"text", result.text},
               {"is_error", result.error.has_value()},
               {"error", error_of(result.error)},
               {"output_id", result.output_id},
               {"job_id", result.job_id},
               {"undo_id", result.undo_id},
               {"is_cut", result.is_cut},
               {"tokens", result.tokens},
               {"raw_tokens", result.raw_tokens},
               {"audit_id", done.audit_id}};
  if (result.ending) body["result"] = to_json(*result.ending);
  if (!result.fields_json.empty()) body["fields"] = Json::parse(result.fields_json, nullptr, false);
  if (result.image) {
    body["image"] = {{"media_type", result.image->media_type},
                     {"data_base64", to_base64(result.image->bytes)}};
  }
  return reply(call, 200, body);
}

const Shape& tools_shape() {
  static const Shape kShape{"Tools",
                            {{"tools", Field::Type::ObjectList, "", Field::Presence::Required}}};
  return kShape;
}

const Shape& tool_result_shape() {
  using enum Field::Type;
  using enum Field::Presence;
  static const Shape kShape{"ToolResult",
                            {{"text", Text, "what a model reads", Required},
                             {"is_error", Boolean, "", Required},
                             {"error", Object, "", Nullable},
                             {"output_id", Text},
                             {"job_id", Text},
                             {"undo_id", Text},
                             {"is_cut", Boolean},
                             {"tokens", Integer},
                             {"raw_tokens", Integer},
                             {"audit_id", Integer},
                             {"result", Object},
                             {"fields", Any},
                             {"image", Object}}};
  return kShape;
}

}  // namespace

std::vector<Route> tool_routes() {
  return {{.method = "GET",
           .path = "/v1/tools",
           .name = "listTools",
           .summary = "What a model can call, with the schemas",
           .handle = catalogue_of_tools,
           .gives = tools_shape},
          {.method = "POST",
           .path = "/v1/sandboxes/{id}/tools/{tool}",
           .name = "callTool",
           .summary = "Call a tool; what went wrong inside is in the answer",
           .handle = call_one,
           .gives = tool_result_shape,
           .body = Route::Body::Object,
           .most_body_bytes = kMostContentBytes}};
}

}  // namespace nutshell::server
