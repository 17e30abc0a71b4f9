#include <fmt/format.h>

#include "tools/arguments.h"
#include "tools/built_in.h"
#include "tools/result_text.h"
#include "tools/tool_context.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

wire::InitClient::Source source_of(const std::string& content) {
  return [&content, offset = std::size_t{0}](std::size_t most) mutable -> Result<std::string> {
    std::string part = content.substr(offset, most);
    offset += part.size();
    return part;
  };
}

Result<ToolResult> write(const Arguments& arguments, ToolContext& context) {
  const std::string* content = arguments.text_if("content");
  const std::string path = arguments.text("path");
  if (const Placeholder found = find_placeholder(*content); found.line > 0)
    return refuse_placeholder("content", found);
  const auto answer =
      TRY(context.init.put_file({path, 0644, arguments.text("version")}, source_of(*content)));
  if (const auto* refused = refusal_of(answer)) return refuse(*refused);
  const auto& changed = std::get<wire::Changed>(answer);
  const bool is_new =
      !changed.changes.empty() && changed.changes.back().kind == wire::ChangeKind::Added;
  ToolResult result;
  if (changed.total_changes == 0) {
    result.text = fmt::format("{} already has this content (v{})", visible_name(path),
                              model_text(changed.version));
  } else {
    result.text =
        fmt::format("{} {} ({}, {})", is_new ? "created" : "wrote", visible_name(path),
                    count_of(changed.total_lines, "line"), model_text(change_marks(changed)));
  }
  result.undo_id = model_text(changed.undo_id);
  if (context.wants_fields) result.fields_json = change_fields(changed);
  return result;
}

}  // namespace

Tool make_write_tool() {
  using enum Parameter::Type;
  using enum Parameter::Presence;
  Parameter content{"content", String, Required};
  content.may_hold_nul = true;
  return {.name = "write",
          .help =
              "Create or replace a file. Parent directories are made. Prefer @edit "
              "for changes.",
          .parameters = {{"path", String, Required},
                         content,
                         {"version", String, Optional, "Fail unless the file has this version"}},
          .hints = {.is_idempotent = true},
          .run = write};
}

}  // namespace nutshell
