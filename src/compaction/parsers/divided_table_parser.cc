#include "compaction/parsers/divided_table_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "compaction/compactor.h"
#include "compaction/records/record_digest.h"
#include "compaction/records/table_reader.h"
#include "compaction/records/vertical_reader.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFewestBytes = 6000;  // a smaller table is shown as it is
constexpr std::size_t kFewTokens = 400;
constexpr std::size_t kMostTokens = 4500;
constexpr std::size_t kMostKept = 200;  // lines around several tables

DigestOptions options_of(std::size_t most_tokens) {
  DigestOptions options;
  options.few_tokens = kFewTokens;
  options.most_tokens = most_tokens;
  return options;
}

std::optional<ReadTable> read_large(Lines lines) {
  auto table = read_divided_table(lines);
  return table ? std::move(table) : read_vertical_records(lines);
}

// A run of lines that are rows and rules of one table, or one of lines that are none.
struct Part {
  std::size_t first = 0;
  std::size_t lines = 0;
  bool is_table = false;
};

struct Parts {
  std::vector<Part> parts;
  std::size_t tables = 0;  // with enough rows to be digested
};

Parts parts_of(Lines lines) {
  constexpr std::size_t kFewestLines = 10;
  Parts parts;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const bool is_row =
        contains(lines[at], "|") || contains(lines[at], "│") || is_table_rule(lines[at]);
    if (parts.parts.empty() || parts.parts.back().is_table != is_row)
      parts.parts.push_back({at, 0, is_row});
    ++parts.parts.back().lines;
  }
  for (const Part& part : parts.parts)
    parts.tables += part.is_table && part.lines >= kFewestLines ? 1 : 0;
  return parts;
}

bool recognises_divided_table(const ParserInput& input) {
  std::size_t bytes = 0;
  for (const auto line : input.lines)
    bytes += line.size() + 1;
  return bytes >= kFewestBytes &&
         (read_large(input.lines).has_value() || parts_of(input.lines).tables >= 2);
}

// Several tables with their titles: each is digested in its place.
std::optional<Facts> facts_of_tables(const ParserInput& input, std::string_view tool) {
  const auto parts = parts_of(input.lines);
  if (parts.tables < 2) return std::nullopt;
  Facts facts;
  facts.is_data = true;
  facts.tool = tool;
  std::size_t tables = 0;
  std::size_t rows = 0;
  std::size_t left_out = 0;
  std::size_t first_left_out = 0;
  for (const Part& part : parts.parts) {
    const auto lines = input.lines.subspan(part.first, part.lines);
    const auto table = part.is_table ? read_divided_table(lines, part.first) : std::nullopt;
    if (!table) {
      for (const auto line : lines) {
        if (!is_blank(line)) facts.kept.emplace_back(line);
      }
      if (facts.kept.size() > kMostKept) return std::nullopt;
      continue;
    }
    const auto digest = digest_of(table->set, options_of(kMostTokens / parts.tables));
    facts.kept.insert(facts.kept.end(), table->other.begin(), table->other.end());
    facts.kept.insert(facts.kept.end(), digest.lines.begin(), digest.lines.end());
    ++tables;
    rows += table->set.records().size();
    left_out += digest.left_out;
    if (first_left_out == 0 && digest.left_out > 0) first_left_out = digest.first_left_out;
  }
  if (tables < 2) return std::nullopt;
  facts.totals = {{"rows", rows}};
  if (left_out == 0) return facts;
  facts.omitted.push_back({"rows", left_out});
  facts.unshown.push_back(
      {fmt::format("{} of {} rows", left_out, rows), fmt::format("offset={}", first_left_out)});
  return facts;
}

std::optional<Facts> parse_divided_table(const ParserInput& input) {
  const auto& words = input.command.words;
  const std::string_view tool = words.empty() ? "table" : std::string_view(words.front());
  const auto table = read_large(input.lines);
  if (!table) return facts_of_tables(input, tool);
  return facts_of_rows(table->set, table->other, tool);
}

}  // namespace

Facts facts_of_rows(const RecordSet& rows, const std::vector<std::string_view>& other,
                    std::string_view tool) {
  auto digest = digest_of(rows, options_of(kMostTokens));
  Facts facts;
  facts.is_data = true;
  facts.tool = tool;
  facts.totals = {{"rows", rows.records().size()}};
  facts.kept.assign(other.begin(), other.end());
  facts.kept.insert(facts.kept.end(), digest.lines.begin(), digest.lines.end());
  if (digest.left_out == 0) return facts;
  facts.omitted.push_back({"rows", digest.left_out});
  facts.unshown.push_back({fmt::format("{} of {} rows", digest.left_out, rows.records().size()),
                           fmt::format("offset={}", digest.first_left_out)});
  return facts;
}

Parser divided_table_parser() {
  return {"divided table", recognises_divided_table, parse_divided_table};
}

}  // namespace nutshell::compaction
