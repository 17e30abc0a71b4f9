#include "tools/result_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tools/visible_text.h"

namespace nutshell {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// The marks with which a comment begins; what is behind them, if `line` is nothing but a comment.
std::string_view comment_of(std::string_view line) {
  for (const std::string_view mark : {"//", "#", "<!--", "/*", "{/*", "--", ";", "%", "*"}) {
    if (!line.starts_with(mark)) continue;
    std::string_view rest = trimmed(line.substr(mark.size()));
    for (const std::string_view end : {"*/}", "*/", "-->"}) {
      if (rest.ends_with(end)) rest = trimmed(rest.substr(0, rest.size() - end.size()));
    }
    return rest;
  }
  return {};
}

// Both an ellipsis and one of the phrases by which code is left out: either alone is honest prose.
bool is_placeholder(std::string_view comment) {
  const bool has_dots = comment.starts_with("...") || comment.starts_with("…") ||
                        comment.ends_with("...") || comment.ends_with("…");
  if (!has_dots) return false;
  constexpr std::array<std::string_view, 12> kPhrases = {
      "rest of",          "rest unchanged",  "existing code",  "unchanged",
      "remains the same", "remain the same", "same as before", "omitted for brevity",
      "previous code",    "remaining code",  "keep existing",  "code continues"};
  const std::string text = lower(comment);
  return std::any_of(kPhrases.begin(), kPhrases.end(), [&](std::string_view phrase) {
    return text.find(phrase) != std::string::npos;
  });
}

std::string_view kind_word(wire::ChangeKind kind) {
  switch (kind) {
    case wire::ChangeKind::Added:
      return "added";
    case wire::ChangeKind::Modified:
      return "modified";
    case wire::ChangeKind::Removed:
      return "removed";
  }
  return "modified";
}

}  // namespace

ToolResult refuse(ToolError error) {
  ToolResult result;
  for (std::string* part : {&error.what, &error.why, &error.next})
    *part = model_text(*part);
  result.text = fmt::format("{}: {}", to_string(error.code), error.what);
  if (!error.why.empty()) result.text += "\n" + error.why;
  if (!error.next.empty()) result.text += "\n" + error.next;
  result.error = std::move(error);
  return result;
}

ToolResult refuse(const wire::Refused& refused) {
  return refuse(ToolError{refused.code, refused.what, refused.why, refused.next});
}

ToolResult bad_argument(std::string what, std::string next) {
  return refuse(ToolError{ErrorCode::InvalidArgument, std::move(what), {}, std::move(next)});
}

std::string path_below(const std::string& directory, const std::string& path) {
  if (directory.empty() || directory == "." || directory == "./") return path;
  if (path.empty()) return directory;
  return directory.ends_with('/') ? directory + path : directory + "/" + path;
}

std::string count_of(std::uint64_t count, std::string_view one, std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

std::string change_marks(const wire::Changed& changed) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!changed.version.empty()) add("v" + changed.version);
  if (!changed.undo_id.empty()) add("undo " + changed.undo_id);
  if (changed.undo_id.empty() && !changed.why_no_undo.empty())
    add("no undo: " + changed.why_no_undo);
  return text;
}

std::string change_sentence(const wire::Changed& changed) {
  if (changed.total_changes == 0) return {};
  const std::string marks = change_marks(changed);
  return fmt::format("changed {}{}{}", count_of(changed.total_changes, "file"),
                     marks.empty() ? "" : ", ", marks);
}

std::string change_fields(const wire::Changed& changed) {
  nlohmann::ordered_json fields;
  if (!changed.version.empty()) fields["version"] = model_text(changed.version);
  if (changed.total_lines > 0) fields["total_lines"] = changed.total_lines;
  for (const wire::LineRange& range : changed.lines)
    fields["lines"].push_back({range.first, range.last});
  fields["total_changes"] = changed.total_changes;
  fields["changes"] = nlohmann::ordered_json::array();
  for (const wire::FileChange& change : changed.changes)
    fields["changes"].push_back(
        {{"path", model_text(change.path)}, {"kind", kind_word(change.kind)}});
  if (!changed.why_no_undo.empty()) fields["why_no_undo"] = model_text(changed.why_no_undo);
  return fields.dump();
}

Placeholder find_placeholder(std::string_view text) {
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = trimmed(text.substr(0, end));
    if (whole.size() < 200 && is_placeholder(comment_of(whole))) return {line, std::string(whole)};
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

ToolResult refuse_placeholder(std::string_view argument, const Placeholder& placeholder) {
  return refuse(ToolError{
      ErrorCode::LazyPlaceholder,
      fmt::format("`{}` has \"{}\" at line {}.", argument, placeholder.text, placeholder.line),
      "It stands where text was left out, and would replace that text.",
      "Send the full text, or use edit for the lines that change."});
}

}  // namespace nutshell
