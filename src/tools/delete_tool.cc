#include <fmt/format.h>

#include "tools/arguments.h"
#include "tools/built_in.h"
#include "tools/result_text.h"
#include "tools/tool_context.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

Result<ToolResult> remove(const Arguments& arguments, ToolContext& context) {
  wire::Remove request;
  request.path = arguments.text("path");
  request.is_recursive = arguments.is_set("recursive") ? 1 : 0;
  const auto answer = TRY(context.init.call<wire::Changed>(request));
  if (const auto* refused = refusal_of(answer)) return refuse(*refused);
  const auto& changed = std::get<wire::Changed>(answer);
  const std::string marks = model_text(change_marks(changed));
  ToolResult result;
  result.text = fmt::format("deleted {} ({}{}{})", visible_name(request.path),
                            count_of(changed.total_changes, "entry", "entries"),
                            marks.empty() ? "" : ", ", marks);
  result.undo_id = model_text(changed.undo_id);
  if (context.wants_fields) result.fields_json = change_fields(changed);
  return result;
}

}  // namespace

Tool make_delete_tool() {
  using enum Parameter::Type;
  using enum Parameter::Presence;
  return {.name = "delete",
          .help = "Delete a file, an empty directory, or a whole one with `recursive`.",
          .parameters = {{"path", String, Required}, {"recursive", Boolean, Optional}},
          .hints = {.is_destructive = true, .is_idempotent = true},
          .run = remove};
}

}  // namespace nutshell
