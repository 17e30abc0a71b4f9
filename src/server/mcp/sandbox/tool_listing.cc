#include "server/mcp/sandbox/tool_listing.h"

#include <cctype>
#include <nlohmann/json.hpp>

#include "tools/schema.h"

namespace nutshell::mcp {
namespace {

using Ordered = nlohmann::ordered_json;

// "sandbox_read" → "Read"
std::string title_of(const std::string& name, const std::string& prefix) {
  std::string title = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  for (char& letter : title)
    if (letter == '_') letter = ' ';
  if (!title.empty())
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
  return title;
}

// Writes all four hints: clients assume the worst of a missing one.
Ordered annotations_of(const Tool& tool, const ToolPolicy& policy) {
  const bool changes = !tool.hints.is_read_only;
  return {{"title", title_of(tool.name, policy.prefix)},
          {"readOnlyHint", tool.hints.is_read_only},
          {"destructiveHint", changes && tool.hints.is_destructive && !policy.is_disposable},
          {"idempotentHint", tool.hints.is_read_only || tool.hints.is_idempotent},
          {"openWorldHint", policy.has_network && changes}};
}

Ordered output_schema() {
  const Ordered text = {{"type", "string"}};
  const Ordered number = {{"type", "integer"}};
  return {{"type", "object"},
          {"required", {"text"}},
          {"properties",
           {{"text", text},
            {"error", {{"type", "object"}}},
            {"exit_code", number},
            {"output_id", text},
            {"job_id", text},
            {"undo_id", text},
            {"truncated", {{"type", "boolean"}}},
            {"tokens", number},
            {"fields", {{"type", "object"}}}}}};
}

void mirror(Ordered& schema, const ToolPolicy& policy) {
  if (policy.mirrored_parameter.empty()) return;
  auto& properties = schema["properties"];
  if (properties.contains(policy.mirrored_parameter))
    properties[policy.mirrored_parameter]["x-mcp-header"] = policy.mirrored_header;
}

}  // namespace

std::string tool_listing(const std::vector<Tool>& tools, const ToolPolicy& policy) {
  Ordered list = Ordered::array();
  for (const Tool& tool : tools) {
    const Ordered made = Ordered::parse(tool_schema(tool, policy.dialect, Annotations::Left));
    Ordered entry = {{"name", made["name"]},
                     {"title", title_of(tool.name, policy.prefix)},
                     {"description", made["description"]},
                     {"inputSchema", made["inputSchema"]}};
    mirror(entry["inputSchema"], policy);
    if (policy.is_structured) entry["outputSchema"] = output_schema();
    entry["annotations"] = annotations_of(tool, policy);
    list.push_back(std::move(entry));
  }
  return Ordered{{"tools", std::move(list)}}.dump();
}

}  // namespace nutshell::mcp
