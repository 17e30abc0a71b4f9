#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_reader.h"
#include "tools/built_in.h"
#include "tools/json_part.h"
#include "tools/result_text.h"
#include "tools/text_budget.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

constexpr std::int64_t kTokens = 4000;
constexpr std::size_t kMostLineBytes = 2000;
constexpr int kMostPatternMemory = 8 << 20;
constexpr std::uint64_t kCopies = 3;  // the file, its streams, and the text that was chosen

struct Page {
  std::vector<std::string> lines;    // the first ones, as many as the budget can show
  std::vector<std::size_t> numbers;  // of these lines, from 1
  std::size_t count = 0;             // of all lines that were chosen
  bool is_filtered = false;
};

std::string_view without_newline(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string shown(std::string_view line) {
  if (line.size() <= kMostLineBytes) return model_text(line);
  return model_text(line.substr(0, kMostLineBytes)) +
         fmt::format("…(+{} bytes)", line.size() - kMostLineBytes);
}

ToolResult tell(const std::string& id, const Page& page, std::size_t total,
                const TextBudget& budget) {
  const bool is_filtered = page.is_filtered;
  const auto fitted = budget.fit(page.lines.size(), [&](std::size_t count) {
    const std::size_t first = count > 0 ? page.numbers.front() : 0;
    const std::size_t last = count > 0 ? page.numbers[count - 1] : 0;
    std::string text = is_filtered ? fmt::format("{} {} of {} lines match", id, page.count, total)
                                   : fmt::format("{} {}-{}/{}", id, first, last, total);
    for (std::size_t i = 0; i < count; ++i)
      text += is_filtered ? fmt::format("\n{}:{}", page.numbers[i], page.lines[i])
                          : "\n" + page.lines[i];
    if (count < page.count || (!is_filtered && last < total && count > 0))
      text += fmt::format("\nnext: offset={}", last + 1);
    return text;
  });
  ToolResult result;
  result.text = fitted.text;
  result.output_id = id;
  result.is_cut = fitted.parts < page.count;
  result.fields_json =
      nlohmann::ordered_json{{"lines", fitted.parts}, {"total_lines", total}}.dump();
  return result;
}

std::size_t count_lines(std::string_view text) {
  const auto ends = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  return ends + (text.empty() || text.ends_with('\n') ? 0 : 1);
}

// Goes through the text line by line, because a list of millions of lines is larger than the text.
Page select(std::string_view text, const Arguments& arguments, const RE2* pattern,
            std::size_t most_bytes) {
  Page page;
  page.is_filtered = pattern != nullptr;
  const auto first = static_cast<std::size_t>(arguments.integer("offset", 1));
  const auto limit = static_cast<std::size_t>(arguments.integer("limit", 1'000'000));
  std::size_t bytes = 0;
  for (std::size_t number = 1; !text.empty() && page.count < limit; ++number) {
    const std::size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = without_newline(text.substr(0, length));
    text.remove_prefix(length);
    if (number < first) continue;
    if (pattern != nullptr && !RE2::PartialMatch({line.data(), line.size()}, *pattern)) continue;
    ++page.count;
    if (bytes >= most_bytes) continue;
    page.numbers.push_back(number);
    page.lines.push_back(shown(line));
    bytes += page.lines.back().size() + 1;
    if (bytes >= most_bytes && pattern == nullptr) break;  // the budget shows no more
  }
  return page;
}

// Standard output, then standard error: the order that line numbers in compacted output refer to.
std::string chosen_text(const StoredOutput& stored, const std::string& stream) {
  std::string text;
  if (stream != "stderr") text = whole_text(stored.output);
  const std::string error = stream != "stdout" ? whole_text(stored.error) : std::string();
  if (!text.empty() && !text.ends_with('\n') && !error.empty()) text += '\n';
  return text + error;
}

ToolResult tell_json(const std::string& id, const JsonPart& part, const TextBudget& budget) {
  const auto where = part.name.empty() ? id : fmt::format("{} {}", id, part.name);
  const auto fitted = budget.fit(part.lines.size(), [&](std::size_t count) {
    std::string text = where;
    const std::size_t next = part.first + count;
    if (part.has_rows && count > 0)
      text += fmt::format(" rows {}-{} of {}", part.first, next - 1, part.total);
    if (part.has_rows && part.total == 0) text += " is empty";
    for (std::size_t at = 0; at < count; ++at)
      text += "\n" + part.lines[at];
    if (part.has_rows && next < part.total && count > 0)
      text += fmt::format("\nnext: rows={}-{}", next, part.total - 1);
    return text;
  });
  ToolResult result;
  result.text = fitted.text;
  result.output_id = id;
  result.is_cut = fitted.parts < part.lines.size();
  result.fields_json =
      nlohmann::ordered_json{{"rows", fitted.parts}, {"total_rows", part.total}}.dump();
  return result;
}

ToolResult recall_json(const std::string& id, std::string text, const Arguments& arguments,
                       const TextBudget& budget) {
  const auto rows = parse_rows(arguments.text("rows"));
  if (arguments.has("rows") && !rows)
    return bad_argument("`rows` is no range.", "Give two numbers, such as 40-80, or one.");
  if (arguments.has("grep"))
    return bad_argument("`grep` does not go with `pointer` or `rows`.", "Leave out one of them.");
  const auto part =
      select_json(std::move(text), arguments.text("pointer"), rows, budget.most_bytes());
  if (!part.problem.empty()) return bad_argument(part.problem, part.advice);
  return tell_json(id, part, budget);
}

// Every value follows one of these characters or begins the text. The list of values grows by
// doubling, and the text is copied once.
std::uint64_t memory_for_json(std::string_view text) {
  const auto values = std::count_if(text.begin(), text.end(), [](char c) {
    return c == ',' || c == ':' || c == '[' || c == '{' || c == '\n';
  });
  return text.size() + static_cast<std::uint64_t>(values + 1) * 2 * sizeof(JsonNode);
}

Result<ToolResult> recall(const Arguments& arguments, ToolContext& context) {
  const TextBudget budget(context, arguments, kTokens);
  const std::string id = arguments.text("id");
  TRY(context.memory.take(context.outputs.size_of(id) * kCopies));
  const auto stored = context.outputs.load(id);
  if (!stored && stored.error().code == ErrorCode::Expired) {
    return refuse(ToolError{ErrorCode::Expired, fmt::format("{} is not stored.", visible_name(id)),
                            model_text(stored.error().message), "Run the command again."});
  }
  if (!stored) return Failure(stored.error());
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(kMostPatternMemory);
  options.set_encoding(RE2::Options::EncodingLatin1);  // bytes: output need not be UTF-8
  const RE2 pattern(arguments.text("grep"), options);
  if (!pattern.ok())
    return bad_argument(fmt::format("`grep` is no pattern: {}.", model_text(pattern.error())),
                        "Patterns are RE2; escape ( [ { . * + ? | \\ with a backslash.");
  std::string text = chosen_text(*stored, arguments.text("stream", "both"));
  if (arguments.has("pointer") || arguments.has("rows")) {
    TRY(context.memory.take(memory_for_json(text)));
    return recall_json(id, std::move(text), arguments, budget);
  }
  const std::size_t total = count_lines(text);
  const auto first = static_cast<std::size_t>(arguments.integer("offset", 1));
  if (first > std::max<std::size_t>(total, 1))
    return bad_argument(fmt::format("`offset` {} is behind the end: {} has {}.", first, id,
                                    count_of(total, "line")));
  const RE2* filter = arguments.has("grep") ? &pattern : nullptr;
  return tell(id, select(text, arguments, filter, budget.most_bytes()), total, budget);
}

}  // namespace

Tool make_recall_tool() {
  using enum Parameter::Type;
  using enum Parameter::Presence;
  Parameter stream{"stream", String, Optional};
  stream.choices = {"both", "stdout", "stderr"};
  return {.name = "recall",
          .help = "Get the whole output behind an id (o7f3a), filtered or paged.",
          .parameters = {{"id", String, Required},
                         {"grep", String, Optional},
                         {"offset", Integer, Optional, "First line", 1},
                         {"limit", Integer, Optional, "", 1},
                         stream,
                         {"pointer", String, Optional, "JSON pointer"},
                         {"rows", String, Optional, "From 0: 40-80"},
                         max_tokens_parameter(kTokens)},
          .hints = {.is_read_only = true},
          .run = recall};
}

}  // namespace nutshell
