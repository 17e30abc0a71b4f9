#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/built_in.h"
#include "tools/result_text.h"
#include "tools/text_budget.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

constexpr std::int64_t kTokens = 4000;
constexpr std::uint32_t kMostLineBytes = 300;
constexpr std::uint32_t kTimeoutMs = 30'000;

// One part of the answer: a file's name, or a line of it. `matches` is how many matches it shows.
struct Part {
  std::string text;
  std::uint64_t matches = 0;
};

std::string line_of(const wire::SearchLine& line) {
  std::string text =
      fmt::format("{}{}{}", line.line, line.is_context != 0 ? '-' : ':', model_text(line.text));
  if (line.cut_bytes > 0) text += fmt::format("…(+{} bytes)", line.cut_bytes);
  return text;
}

std::vector<Part> parts_of(const wire::SearchPage& page, const wire::Search& request) {
  const wire::SearchMode mode = request.mode;
  const bool has_context = request.context > 0;
  std::vector<Part> parts;
  for (const wire::SearchedFile& file : page.files) {
    const std::string name = visible_name(file.path);
    if (mode == wire::SearchMode::Files) {
      parts.push_back({name, 1});
      continue;
    }
    if (mode == wire::SearchMode::Count) {
      parts.push_back({fmt::format("{}: {}", name, file.matches), 1});
      continue;
    }
    // The name is in one part with its first line: alone it would tell nothing.
    std::string ahead = name + "\n";
    std::uint64_t last = 0;
    for (const wire::SearchLine& line : file.lines) {
      if (has_context && last > 0 && line.line > last + 1) ahead += "--\n";
      parts.push_back({ahead + line_of(line), line.is_context != 0 ? 0U : 1U});
      ahead.clear();
      last = line.line;
    }
  }
  return parts;
}

// Drops the parts behind the last match that the caller wants; 0: it wants all.
void keep_first(std::vector<Part>& parts, std::int64_t limit) {
  std::uint64_t matches = 0;
  const auto wanted = static_cast<std::uint64_t>(limit);
  const auto end = std::find_if(parts.begin(), parts.end(), [&](const Part& part) {
    matches += part.matches;
    return limit > 0 && matches > wanted;
  });
  parts.erase(end, parts.end());
}

wire::Search request_of(const Arguments& arguments, const TextBudget& budget) {
  wire::Search request;
  const std::string mode = arguments.text("mode", "lines");
  request.pattern = arguments.text("pattern");
  request.path = arguments.text("path", ".");
  request.glob = arguments.text("glob");
  request.file_type = arguments.text("type");
  request.mode = mode == "files"   ? wire::SearchMode::Files
                 : mode == "count" ? wire::SearchMode::Count
                                   : wire::SearchMode::Lines;
  request.context = static_cast<std::uint32_t>(arguments.integer("context", 0));
  request.ignores_case = arguments.is_set("ignore_case") ? 1 : 0;
  request.is_literal = arguments.is_set("literal") ? 1 : 0;
  request.is_multiline = arguments.is_set("multiline") ? 1 : 0;
  request.includes_ignored = arguments.is_set("all") ? 1 : 0;
  request.offset = static_cast<std::uint64_t>(arguments.integer("offset", 0));
  request.most_matches = static_cast<std::uint32_t>(budget.max_tokens());
  request.most_bytes =
      static_cast<std::uint32_t>(std::min<std::size_t>(wire::kMostPageBytes, budget.most_bytes()));
  request.most_line_bytes = kMostLineBytes;
  request.timeout_ms = kTimeoutMs;
  return request;
}

std::string heading(const wire::SearchPage& page) {
  std::string text = page.total_matches == 0
                         ? "no matches"
                         : fmt::format("{} in {}", count_of(page.total_matches, "match", "matches"),
                                       count_of(page.total_files, "file"));
  if (page.is_partial != 0)
    text += " so far (partial: time or size ran out; narrow with path or glob)";
  if (page.total_matches == 0 && page.ignored > 0)
    text += fmt::format(" ({} ignored by .gitignore; all=true searches them)",
                        count_of(page.ignored, "entry is", "entries are"));
  if (page.total_matches == 0 && page.skipped_binary > 0)
    text += fmt::format(" ({} skipped)", count_of(page.skipped_binary, "binary file"));
  return text;
}

std::string fields_of(const wire::SearchPage& page) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const wire::SearchedFile& file : page.files) {
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();
    for (const wire::SearchLine& line : file.lines)
      lines.push_back({{"line", line.line},
                       {"context", line.is_context != 0},
                       {"text", model_text(line.text)}});
    files.push_back(
        {{"path", model_text(file.path)}, {"matches", file.matches}, {"lines", std::move(lines)}});
  }
  return nlohmann::ordered_json{{"files", std::move(files)},
                                {"total_matches", page.total_matches},
                                {"total_files", page.total_files},
                                {"partial", page.is_partial != 0}}
      .dump();
}

Result<ToolResult> grep(const Arguments& arguments, ToolContext& context) {
  const TextBudget budget(context, arguments, kTokens);
  const wire::Search request = request_of(arguments, budget);
  auto answer = TRY(context.init.call<wire::SearchPage>(request));
  if (const auto* refused = refusal_of(answer)) return refuse(*refused);
  auto& page = std::get<wire::SearchPage>(answer);
  for (wire::SearchedFile& file : page.files)
    file.path = path_below(request.path, file.path);
  std::vector<Part> parts = parts_of(page, request);
  keep_first(parts, arguments.integer("limit", 0));
  const bool counts_lines = request.mode == wire::SearchMode::Lines;
  const std::uint64_t total = counts_lines ? page.total_matches : page.total_files;
  std::uint64_t next = 0;
  const auto fitted = budget.fit(parts.size(), [&](std::size_t count) {
    std::string text = heading(page);
    next = request.offset;
    for (std::size_t i = 0; i < count; ++i) {
      text += "\n" + parts[i].text;
      next += parts[i].matches;
    }
    if (next < total)
      text += fmt::format("\n(+{} more {}; narrow with glob or path, or offset={})", total - next,
                          counts_lines ? "matches" : "files", next);
    return text;
  });
  ToolResult result;
  result.text = fitted.text;
  result.tokens = fitted.tokens;
  result.is_cut = next < total;
  if (context.wants_fields) result.fields_json = fields_of(page);
  return result;
}

}  // namespace

Tool make_grep_tool() {
  using enum Parameter::Type;
  using enum Parameter::Presence;
  Parameter mode{"mode", String, Optional};
  mode.choices = {"lines|content", "files|files_with_matches", "count"};
  mode.by_default = "\"lines\"";
  return {.name = "grep",
          .help =
              "Search file contents by regex (RE2), grouped by file. Honors .gitignore unless "
              "`all`.",
          .parameters = {{"pattern", String, Required},
                         {"path", String, Optional},
                         {"glob", String, Optional, "e.g. **/*.{ts,tsx}"},
                         {"type", String, Optional, "e.g. py"},
                         mode,
                         {"context", Integer, Optional, "", 0, 20},
                         {"ignore_case", Boolean, Optional},
                         {"literal", Boolean, Optional},
                         {"multiline", Boolean, Optional},
                         {"all", Boolean, Optional},
                         {"offset", Integer, Optional, "Skip N matches", 0},
                         max_tokens_parameter(kTokens)},
          .hints = {.is_read_only = true},
          .run = grep};
}

}  // namespace nutshell
