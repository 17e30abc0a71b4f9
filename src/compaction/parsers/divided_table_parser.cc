#include "compaction/parsers/divided_table_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "compaction/compactor.h"
#include "compaction/records/record_digest.h"
#include "compaction/records/table_reader.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFewestBytes = 6000;  // a smaller table is shown as it is
constexpr std::size_t kFewTokens = 400;
constexpr std::size_t kMostTokens = 4500;

bool recognises_divided_table(const ParserInput& input) {
  std::size_t bytes = 0;
  for (const auto line : input.lines)
    bytes += line.size() + 1;
  return bytes >= kFewestBytes && read_divided_table(input.lines).has_value();
}

std::optional<Facts> parse_divided_table(const ParserInput& input) {
  const auto table = read_divided_table(input.lines);
  if (!table) return std::nullopt;
  const auto& words = input.command.words;
  return facts_of_rows(table->set, table->other, words.empty() ? "table" : words.front());
}

}  // namespace

Facts facts_of_rows(const RecordSet& rows, const std::vector<std::string_view>& other,
                    std::string_view tool) {
  DigestOptions options;
  options.few_tokens = kFewTokens;
  options.most_tokens = kMostTokens;
  auto digest = digest_of(rows, options);
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
