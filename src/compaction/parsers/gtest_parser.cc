#include "compaction/parsers/gtest_parser.h"

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/gtest_report.h"
#include "compaction/parsers/ledger.h"

namespace nutshell::compaction {
namespace {

bool recognises_gtest(const ParserInput& input) {
  return has_line(input.lines, is_gtest_line);
}

std::optional<Facts> parse_gtest(const ParserInput& input) {
  Ledger ledger;
  GtestReport report(ledger);
  for (LineCursor cursor(input.lines); !cursor.done();) {
    if (report.take(cursor.line()))
      cursor.advance();
    else
      take_unknown(cursor, ledger);
  }
  report.finish(input.ending);
  return ledger.settle("gtest", input);
}

}  // namespace

Parser gtest_parser() {
  return {.name = "gtest", .recognises = recognises_gtest, .parse = parse_gtest};
}

}  // namespace nutshell::compaction
