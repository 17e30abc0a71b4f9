#include <fmt/format.h>

#include "tools/arguments.h"
#include "tools/built_in.h"
#include "tools/result_text.h"
#include "tools/tool_context.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

wire::Edit edit_of(const Arguments& arguments) {
  return {arguments.text("old"), arguments.text("new"),
          static_cast<std::uint8_t>(arguments.is_set("all") ? 1 : 0)};
}

std::string places_of(const wire::Changed& changed) {
  constexpr std::size_t kMostShown = 8;
  std::string text;
  for (std::size_t i = 0; i < changed.lines.size() && i < kMostShown; ++i) {
    const wire::LineRange& range = changed.lines[i];
    text += text.empty() ? ":" : ",";
    text += range.last > range.first ? fmt::format("{}-{}", range.first, range.last)
                                     : std::to_string(range.first);
  }
  if (changed.lines.size() > kMostShown) text += ",…";
  return text;
}

std::optional<ToolResult> check_each(const std::vector<wire::Edit>& edits) {
  for (const wire::Edit& edit : edits) {
    if (edit.old_text.empty())
      return bad_argument("`old` is empty.", "Use write to create a file.");
    const Placeholder found = find_placeholder(edit.new_text);
    if (found.line > 0 && edit.old_text.find(found.text) == std::string::npos)
      return refuse_placeholder("new", found);
  }
  return std::nullopt;
}

// Refuses a request that is wrong whatever the file contains.
std::optional<ToolResult> check(const std::vector<wire::Edit>& edits, const Arguments& arguments) {
  if (edits.empty()) return bad_argument("there is no edit.", "Give `old` and `new`, or `edits`.");
  // Beside `edits`, empty ones are what a strict mode made the model give.
  const bool has_text = !arguments.text("old").empty() || !arguments.text("new").empty();
  const bool has_one = arguments.has("old") || arguments.has("new");
  if (arguments.has("edits") && has_one && !has_text) return check_each(edits);
  if (arguments.has("edits") && has_one)
    return bad_argument("both `edits` and `old` or `new` are given.", "Give one of them.");
  if (has_one && !(arguments.has("old") && arguments.has("new")))
    return bad_argument(fmt::format("`{}` is missing.", arguments.has("old") ? "new" : "old"),
                        "Give `old` and `new`; an empty `new` deletes.");
  return check_each(edits);
}

Result<ToolResult> edit(const Arguments& arguments, ToolContext& context) {
  wire::EditFile request;
  request.path = arguments.text("path");
  request.expected_version = arguments.text("version");
  for (const Arguments& one : arguments.objects("edits"))
    request.edits.push_back(edit_of(one));
  if (request.edits.empty() && (arguments.has("old") || arguments.has("new")))
    request.edits.push_back(edit_of(arguments));
  if (auto refused = check(request.edits, arguments)) return std::move(*refused);
  const auto answer = TRY(context.init.call<wire::Changed>(request));
  if (const auto* refused = refusal_of(answer)) return refuse(*refused);
  const auto& changed = std::get<wire::Changed>(answer);
  ToolResult result;
  const std::string marks = model_text(change_marks(changed));
  result.text =
      changed.total_changes == 0
          ? fmt::format("{} is unchanged: the new text is the old one", visible_name(request.path))
          : fmt::format("edited {}{} ({}, {})", visible_name(request.path), places_of(changed),
                        count_of(changed.lines.size(), "change"), marks);
  result.undo_id = model_text(changed.undo_id);
  if (context.wants_fields) result.fields_json = change_fields(changed);
  return result;
}

}  // namespace

Tool make_edit_tool() {
  using enum Parameter::Type;
  using enum Parameter::Presence;
  const auto replacement = [](std::string name, std::string roomkit_name,
                              Parameter::Presence presence) {
    Parameter parameter{std::move(name), String, presence};
    parameter.roomkit_name = std::move(roomkit_name);
    parameter.may_hold_nul = true;
    return parameter;
  };
  Parameter all{"all", Boolean, Optional};
  all.aliases = {"replace_all"};
  Parameter edits{"edits", ObjectList, Optional};
  edits.fields = {replacement("old", "old_string", Required),
                  replacement("new", "new_string", Required), all};
  return {.name = "edit",
          .help =
              "Replace exact text in a file. `old` must match once (add context lines) unless "
              "`all`. Several changes go into `edits`: all apply, or none.",
          .parameters = {{"path", String, Required},
                         replacement("old", "old_string", Optional),
                         replacement("new", "new_string", Optional),
                         all,
                         edits,
                         {"version", String, Optional}},
          .hints = {},
          .run = edit};
}

}  // namespace nutshell
