#include <fmt/format.h>

#include "tools/arguments.h"
#include "tools/built_in.h"
#include "tools/result_text.h"
#include "tools/tool_context.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

constexpr std::size_t kMostShown = 20;

std::string_view verb_of(wire::ChangeKind kind) {
  return kind == wire::ChangeKind::Removed ? "removed" : "restored";
}

Result<ToolResult> undo(const Arguments& arguments, ToolContext& context) {
  const std::string id = arguments.text("id");
  const auto answer = TRY(context.init.call<wire::Changed>(wire::Undo{id}));
  if (const auto* refused = refusal_of(answer)) return refuse(*refused);
  const auto& changed = std::get<wire::Changed>(answer);
  ToolResult result;
  result.text = id.empty() ? "undone" : fmt::format("undid {}", visible_name(id));
  if (!changed.undo_id.empty())
    result.text += fmt::format(" (redo: undo {})", model_text(changed.undo_id));
  for (std::size_t i = 0; i < changed.changes.size() && i < kMostShown; ++i) {
    const wire::FileChange& change = changed.changes[i];
    result.text += fmt::format("\n{} {}", verb_of(change.kind), visible_name(change.path));
  }
  const std::uint64_t shown = std::min<std::uint64_t>(changed.changes.size(), kMostShown);
  if (changed.total_changes > shown)
    result.text += fmt::format("\n(+{} more)", changed.total_changes - shown);
  result.undo_id = model_text(changed.undo_id);
  if (context.wants_fields) result.fields_json = change_fields(changed);
  return result;
}

}  // namespace

Tool make_undo_tool() {
  using enum Parameter::Type;
  using enum Parameter::Presence;
  return {.name = "undo",
          .help =
              "Take back a change by id (u12), or the last. Fails if the file changed "
              "since.",
          .parameters = {{"id", String, Optional}},
          .hints = {},
          .run = undo};
}

}  // namespace nutshell
