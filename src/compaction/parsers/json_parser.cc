#include "compaction/parsers/json_parser.h"

#include <algorithm>

#include "compaction/compactor.h"
#include "compaction/error_words.h"
#include "compaction/records/json_diagnostics.h"
#include "compaction/records/json_layout.h"
#include "compaction/records/log_reader.h"
#include "compaction/text_scan.h"
#include "core/json_reader.h"
#include "core/json_values.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostTokens = 4500;       // below the budget of every call
constexpr std::size_t kMostWholeTokens = 1800;  // JSON that is laid out in no more is shown whole
constexpr std::size_t kMostWholeBytes = 64U << 10U;
constexpr std::size_t kMostOtherLines = 20;

bool recognises_json(const ParserInput& input) {
  constexpr std::size_t kLinesBefore = 8;  // warnings may stand before the JSON
  std::size_t filled = 0;
  for (const auto line : input.lines) {
    const auto text = trim(line);
    if (text.empty()) continue;
    if (text.front() == '{' || text.front() == '[') return true;
    if (++filled > kLinesBefore) return false;
  }
  return false;
}

std::size_t tokens_of(const std::vector<std::string>& lines) {
  std::size_t tokens = 0;
  for (const auto& line : lines)
    tokens += estimate_tokens(line) + 1;
  return tokens;
}

Omission lines_in_part(std::size_t count) {
  return {count == 1 ? "line in part" : "lines in part", count};
}

// Notes what is left out, in a number that cannot be taken for more lines than were printed.
void note_left_out(Facts& facts, std::size_t count, const FoundJson& json) {
  if (count == 0) return;
  if (count <= json.filled)
    facts.omitted.push_back({"records or fields", count});
  else
    facts.omitted.push_back(lines_in_part(json.filled - json.other.size()));
}

// Shows the lines around the JSON; of many, those that look like errors come first.
void add_other(Facts& facts, const FoundJson& json) {
  auto other = json.other;
  std::stable_partition(other.begin(), other.end(), looks_like_error);
  const std::size_t shown = std::min(kMostOtherLines, other.size());
  facts.kept.insert(facts.kept.end(), other.begin(),
                    other.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < other.size()) facts.omitted.push_back({"other lines", other.size() - shown});
}

// Moves lines that stand inside a JSON value without being part of it, as a program's error output
// does, in front of the value.
std::string with_strays_ahead(Lines given) {
  constexpr int kMostStrays = 8;
  constexpr std::size_t kFewBytes = 6;  // of a stray line that the reader may take for a value
  std::string text = joined_lines(given);
  std::string strays;
  for (int count = 0; count < kMostStrays; ++count) {
    std::size_t start = 0;
    while (start < text.size() && text[start] != '{' && text[start] != '[')
      start = std::min(text.find('\n', start), text.size() - 1) + 1;
    JsonReader reader(text);
    JsonTree tree;
    if (start >= text.size() || reader.read(start, tree)) break;
    const std::size_t failed = std::min(reader.failed_at(), text.size() - 1);
    const std::size_t line = failed == 0 ? 0 : text.rfind('\n', failed - 1) + 1;
    const std::size_t end = std::min(text.find('\n', failed), text.size() - 1) + 1;
    const auto words = std::string_view(text).substr(line, end - line);
    const bool is_stray =
        line > start && failed - line <= indent_of(words) + kFewBytes && text[failed] != '\n';
    if (!is_stray) break;
    strays += words;
    text.erase(line, end - line);
  }
  return strays + text;
}

Facts facts_of_diagnostics(const FoundJson& json, std::vector<Diagnostic> diagnostics) {
  Facts facts;
  facts.is_data = true;
  facts.tool = "json";
  facts.totals = {{"diagnostics", diagnostics.size()}};
  facts.diagnostics = std::move(diagnostics);
  // The summary: members of an outermost object that are no containers.
  for (const std::size_t root : json.roots) {
    const auto& nodes = json.tree.nodes;
    if (nodes[root].kind != JsonKind::Object) continue;
    for (std::size_t at = root + 1; at < nodes[root].next; at = nodes[at].next) {
      if (json.tree.is_container(at) || facts.kept.size() > kMostOtherLines) continue;
      facts.kept.push_back(std::string(json_key(json.text, nodes[at])) + ": " +
                           std::string(json_raw(json.text, nodes[at])));
    }
  }
  add_other(facts, json);
  facts.omitted.push_back(lines_in_part(json.filled - json.other.size()));
  return facts;
}

Facts facts_of_layout(const FoundJson& json) {
  const std::size_t raw_tokens = estimate_tokens(json.text);
  LayoutOptions options;
  Layout layout;
  if (json.text.size() <= kMostWholeBytes * 4) layout = layout_of(json, options);
  if (layout.lines.empty() || tokens_of(layout.lines) > kMostWholeTokens) {
    options.is_whole = false;
    options.few_tokens = std::clamp<std::size_t>(raw_tokens / 8, 400, 1500);
    options.most_tokens = kMostTokens;
    layout = layout_of(json, options);
  }
  Facts facts;
  facts.is_data = true;
  facts.tool = "json";
  if (layout.records > 0 && !options.is_whole) facts.totals.push_back({"records", layout.records});
  if (layout.errors > 0) facts.totals.push_back({"report an error", layout.errors});
  add_other(facts, json);
  if (!json.tree.is_complete) facts.kept.emplace_back("(the JSON ends early)");
  const auto is_cut = [](const std::string& line) { return contains(line, "…(+"); };
  const bool has_cut = std::any_of(layout.lines.begin(), layout.lines.end(), is_cut);
  facts.kept.insert(facts.kept.end(), layout.lines.begin(), layout.lines.end());
  facts.unshown = std::move(layout.unshown);
  note_left_out(facts, layout.left_out, json);
  if (has_cut && layout.left_out == 0) facts.omitted.push_back(lines_in_part(1));
  return facts;
}

std::optional<Facts> parse_json(const ParserInput& input) {
  const auto json = find_json(with_strays_ahead(input.lines));
  if (!json) return std::nullopt;
  auto diagnostics = json_diagnostics(*json);
  if (!diagnostics.empty()) return facts_of_diagnostics(*json, std::move(diagnostics));
  return facts_of_layout(*json);
}

}  // namespace

Parser json_parser() {
  return {"json", recognises_json, parse_json};
}

}  // namespace nutshell::compaction
