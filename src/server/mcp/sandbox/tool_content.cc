#include "server/mcp/sandbox/tool_content.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "core/json_text.h"
#include "server/mcp/json_text.h"

namespace nutshell::mcp {
namespace {

using Ordered = nlohmann::ordered_json;

std::string structured(const ToolResult& result) {
  Ordered object = {{"text", result.text}};
  if (result.error)
    object["error"] = {{"code", to_string(result.error->code)},
                       {"what", result.error->what},
                       {"why", result.error->why},
                       {"next", result.error->next}};
  if (result.ending && result.ending->outcome == Outcome::Exited)
    object["exit_code"] = result.ending->exit_code;
  const auto put = [&object](const char* name, const std::string& value) {
    if (!value.empty()) object[name] = value;
  };
  put("output_id", result.output_id);
  put("job_id", result.job_id);
  put("undo_id", result.undo_id);
  object["truncated"] = result.is_cut;
  object["tokens"] = result.tokens;
  if (!result.fields_json.empty()) object["fields"] = Ordered::parse(result.fields_json);
  return dump_json(object);
}

}  // namespace

std::string tool_content(const ToolResult& result, Content content) {
  std::string blocks = fmt::format(R"({{"type":"text","text":{}}})", json_string(result.text));
  if (result.image) {
    blocks += fmt::format(R"(,{{"type":"image","data":"{}","mimeType":{}}})",
                          to_base64(result.image->bytes), json_string(result.image->media_type));
  }
  const std::string more = content == Content::Structured
                               ? fmt::format(",\"structuredContent\":{}", structured(result))
                               : "";
  return fmt::format(R"({{"content":[{}],"isError":{}{}}})", blocks, result.error.has_value(),
                     more);
}

}  // namespace nutshell::mcp
