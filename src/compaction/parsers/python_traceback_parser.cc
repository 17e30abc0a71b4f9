#include "compaction/parsers/python_traceback_parser.h"

#include <unordered_map>
#include <vector>

#include "compaction/error_words.h"
#include "compaction/line_template.h"
#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/ledger.h"
#include "compaction/parsers/stack_frames.h"
#include "compaction/parsers/tracebacks.h"
#include "compaction/status_line.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// Limits on the program's own output: all of it is shown when it is short, else its two ends and
// the lines unlike the others.
constexpr std::size_t kMostLines = 60;
constexpr std::size_t kHead = 10;
constexpr std::size_t kTail = 20;
constexpr std::size_t kRare = 3;  // lines of one template

bool starts_report(std::string_view line) {
  return starts_traceback(line) || python_frame(line).has_value() ||
         contains(line, "+ Exception Group Traceback (");
}

bool recognises_python_traceback(const ParserInput& input) {
  return is_failing(input.ending) && has_line(input.lines, starts_report);
}

void keep_printed(const std::vector<std::string_view>& printed, Ledger& ledger) {
  std::unordered_map<std::uint64_t, std::size_t> templates;
  for (const auto line : printed)
    ++templates[template_of(line)];
  for (std::size_t at = 0; at < printed.size(); ++at) {
    const bool is_kept = printed.size() <= kMostLines || at < kHead ||
                         at + kTail >= printed.size() ||
                         templates[template_of(printed[at])] <= kRare ||
                         look_at(printed[at]).kind != LineKind::Plain;
    if (is_kept)
      ledger.keep(printed[at]);
    else
      ledger.omit("lines of the program");
  }
}

std::optional<Facts> parse_python_traceback(const ParserInput& input) {
  Ledger ledger;
  std::vector<std::string_view> printed;
  for (LineCursor cursor(input.lines); !cursor.done();) {
    if (take_tracebacks(cursor, ledger)) {
      ledger.recognise();
      continue;
    }
    if (!is_blank(cursor.line())) printed.push_back(cursor.line());
    cursor.advance();
  }
  keep_printed(printed, ledger);
  return ledger.settle("python", input);
}

}  // namespace

Parser python_traceback_parser() {
  return {.name = "python_traceback",
          .recognises = recognises_python_traceback,
          .parse = parse_python_traceback};
}

}  // namespace nutshell::compaction
