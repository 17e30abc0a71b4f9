#include "compaction/parsers/python_traceback_parser.h"

#include <vector>

#include "compaction/error_words.h"
#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/ledger.h"
#include "compaction/parsers/stack_frames.h"
#include "compaction/parsers/tracebacks.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// Of what the program itself printed: all of it when it is short, else its two ends.
constexpr std::size_t kMostLines = 60;
constexpr std::size_t kHead = 10;
constexpr std::size_t kTail = 20;

bool starts_report(std::string_view line) {
  return starts_traceback(line) || python_frame(line).has_value() ||
         contains(line, "+ Exception Group Traceback (");
}

bool recognises_python_traceback(const ParserInput& input) {
  return has_failed(input.ending) && has_line(input.lines, starts_report);
}

void keep_printed(const std::vector<std::string_view>& printed, Ledger& ledger) {
  for (std::size_t at = 0; at < printed.size(); ++at) {
    const bool is_kept = printed.size() <= kMostLines || at < kHead ||
                         at + kTail >= printed.size() ||
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
  return ledger.settle("python", input.ending);
}

}  // namespace

Parser python_traceback_parser() {
  return {.name = "python_traceback",
          .recognises = recognises_python_traceback,
          .parse = parse_python_traceback};
}

}  // namespace nutshell::compaction
