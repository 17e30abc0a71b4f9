#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/line_diff.h"
#include "tools/built_in.h"
#include "tools/result_text.h"
#include "tools/text_budget.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

constexpr std::int64_t kTokens = 6000;
constexpr std::uint64_t kMostBytes = 16ULL << 20U;  // of each side

// The content of a file, or the reason why it cannot be compared.
using Side = std::variant<std::string, ToolError>;

ToolError as_tool_error(const Error& error, const std::string& path) {
  // An error that has no code of its own comes from a file that cannot be read, such as a socket.
  if (error.code == ErrorCode::Internal)
    return {ErrorCode::InvalidArgument, error.message, {}, "Give a regular file."};
  if (error.code != ErrorCode::NotFound) return {error.code, error.message, {}, {}};
  return {
      error.code, fmt::format("{} is not there.", visible_name(path)), {}, "Look with ls or find."};
}

Result<Side> load(const std::string& path, wire::FileState state, ToolContext& context) {
  wire::ReadFile request;
  request.path = path;
  request.length = kMostBytes + 1;
  request.state = state;
  std::string bytes;
  const auto read = context.init.read_file(request, [&](std::string_view part) -> Result<> {
    const auto lines = static_cast<std::uint64_t>(std::count(part.begin(), part.end(), '\n'));
    TRY(context.memory.take(part.size() * CallMemory::kForAByte + lines * CallMemory::kForALine));
    bytes += part;
    return {};
  });
  const bool is_past = state != wire::FileState::Now;
  if (!read && read.error().code == ErrorCode::NotFound && is_past)
    return std::string();  // the file is new
  const bool is_ours = !read && (read.error().code == ErrorCode::Unavailable ||
                                 read.error().code == ErrorCode::ResourceExhausted);
  if (is_ours) return Failure(read.error());
  if (!read && read.error().code == ErrorCode::Expired) {
    return ToolError{ErrorCode::Expired,
                     fmt::format("{} has no earlier state that is kept.", visible_name(path)),
                     "It was not changed by a tool call that can still be taken back.",
                     "Give two files, or use git diff."};
  }
  if (!read) return as_tool_error(read.error(), path);
  if (bytes.size() > kMostBytes) {
    return ToolError{ErrorCode::TooLarge,
                     fmt::format("{} has more than {} bytes.", visible_name(path), kMostBytes),
                     {},
                     "Compare parts of it with bash."};
  }
  if (bytes.substr(0, 8192).find('\0') != std::string::npos) {
    return ToolError{ErrorCode::Binary,
                     fmt::format("{} is binary.", visible_name(path)),
                     {},
                     "Compare with bash, for example with cmp."};
  }
  return bytes;
}

struct Totals {
  std::size_t added = 0;
  std::size_t removed = 0;
};

// Drops the two lines with names, which are in the heading already.
std::string without_names(const std::string& diff) {
  const std::size_t first = diff.find('\n');
  const std::size_t second = first == std::string::npos ? first : diff.find('\n', first + 1);
  return second == std::string::npos ? std::string{} : diff.substr(second + 1);
}

ToolResult tell(const std::string& names, const std::string& diff, const TextBudget& budget) {
  ToolResult result;
  if (diff.empty()) {
    result.text = names + ": no difference";
    return result;
  }
  const std::string body = without_names(diff);
  const std::vector<std::string_view> lines = split_lines(body);
  Totals totals;
  for (const std::string_view line : lines) {
    totals.added += line.starts_with('+') ? 1 : 0;
    totals.removed += line.starts_with('-') ? 1 : 0;
  }
  const auto fitted = budget.fit(lines.size(), [&](std::size_t count) {
    std::string text = fmt::format("{} +{} -{}\n", names, totals.added, totals.removed);
    for (std::size_t i = 0; i < count; ++i)
      text += model_text(lines[i]);
    if (count < lines.size())
      text += fmt::format("(+{} more lines; raise max_tokens)", lines.size() - count);
    if (text.ends_with('\n')) text.pop_back();
    return text;
  });
  result.text = fitted.text;
  result.is_cut = fitted.parts < lines.size();
  result.fields_json =
      nlohmann::ordered_json{{"added", totals.added}, {"removed", totals.removed}}.dump();
  return result;
}

Result<ToolResult> diff(const Arguments& arguments, ToolContext& context) {
  const TextBudget budget(context, arguments, kTokens);
  const std::string a = arguments.text("a");
  const bool has_two = arguments.has("b");
  const std::string b = arguments.text("b", a);
  const auto before_state = has_two ? wire::FileState::Now : wire::FileState::BeforeLastChange;
  const Side before = TRY(load(a, before_state, context));
  if (const auto* error = std::get_if<ToolError>(&before)) return refuse(*error);
  const Side after = TRY(load(b, wire::FileState::Now, context));
  if (const auto* error = std::get_if<ToolError>(&after)) return refuse(*error);
  const auto lines_around = static_cast<std::size_t>(arguments.integer("context", 2));
  const std::string text = unified_diff(std::get<std::string>(before), std::get<std::string>(after),
                                        {"a", "b", lines_around});
  const std::string names = has_two ? fmt::format("{} {}", visible_name(a), visible_name(b))
                                    : fmt::format("{} since its last change", visible_name(a));
  return tell(names, text, budget);
}

}  // namespace

Tool make_diff_tool() {
  using enum Parameter::Type;
  using enum Parameter::Presence;
  Parameter a{"a", String, Required};
  a.roomkit_name = "file_a";
  Parameter b{"b", String, Optional};
  b.roomkit_name = "file_b";
  return {.name = "diff",
          .help = "Diff two files, or one against its state before its last change.",
          .parameters = {a,
                         b,
                         {"context", Integer, Optional, "", 0, 20},
                         max_tokens_parameter(kTokens)},
          .hints = {.is_read_only = true},
          .run = diff};
}

}  // namespace nutshell
