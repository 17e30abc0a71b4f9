#include "compaction/parsers/log_parser.h"

#include <algorithm>

#include "compaction/command_words.h"
#include "compaction/compactor.h"
#include "compaction/generic.h"
#include "compaction/records/log_reader.h"
#include "compaction/records/record_digest.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFewestRecords = 8;
constexpr std::size_t kMostTokens = 4500;

// Looks at the first lines: whether they are records of some form.
bool recognises_log(const ParserInput& input) {
  constexpr std::size_t kLines = 200;
  const auto head = input.lines.subspan(0, std::min(kLines, input.lines.size()));
  const auto log = read_log(joined_lines(head));
  const std::size_t records = log.set.records().size();
  const bool is_structured =
      (log.json + log.logfmt) * 10 >= records * 6 && log.timed * 2 >= records;
  return records >= kFewestRecords &&
         (is_structured || log.timed * 10 >= records * 6 || reads_log(input.command));
}

// A sixteenth of the log, within bounds.
std::size_t few_tokens(std::string_view text) {
  constexpr std::size_t kShare = 16;
  constexpr std::size_t kLeast = 200;
  constexpr std::size_t kMost = 900;
  constexpr std::size_t kEnough = 64U << 10U;  // bytes that hold kMost * kShare tokens as a rule
  const std::size_t tokens = estimate_tokens(text.substr(0, kEnough));
  if (tokens >= kMost * kShare) return kMost;
  const bool is_all = text.size() <= kEnough;
  return std::clamp((is_all ? tokens : estimate_tokens(text)) / kShare, kLeast, kMost);
}

std::optional<Facts> parse_log(const ParserInput& input) {
  const auto text = joined_lines(input.lines);
  const auto log = read_log(text);
  const std::size_t records = log.set.records().size();
  if (records < kFewestRecords || log.set.is_full()) return std::nullopt;
  DigestOptions options;
  options.is_log = true;
  options.few_tokens = few_tokens(text);
  options.most_tokens = kMostTokens;
  auto digest = digest_of(log.set, options);
  Facts facts;
  facts.is_data = true;
  facts.tool = "log";
  facts.totals = {{"records", records}};
  if (digest.errors > 0) facts.totals.push_back({"of level error", digest.errors});
  if (digest.warnings > 0) facts.totals.push_back({"of level warning", digest.warnings});
  facts.kept = std::move(digest.lines);
  if (digest.left_out > 0) facts.omitted.push_back({"records", digest.left_out});
  if (log.continued > 0) facts.omitted.push_back({"lines of traces in part", log.continued});
  return facts;
}

}  // namespace

Parser log_parser() {
  return {"log", recognises_log, parse_log};
}

}  // namespace nutshell::compaction
