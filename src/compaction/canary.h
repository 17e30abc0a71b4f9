// Checks a parser's result: finds lines of the output that look like errors and that the parser
// neither reports nor accounts for. The result of a parser that misses many of them is dropped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compaction/parser.h"

namespace nutshell::compaction {

struct CanaryReport {
  // Lines that differ only in numbers count once.
  std::size_t hits = 0;              // lines that look like errors or warnings
  std::size_t missed = 0;            // of them, not reported
  std::vector<std::size_t> missing;  // indices of the first of those

  [[nodiscard]] bool is_bad() const { return missed > 3 && missed * 3 > hits; }
};

// A parser's report on an output. The text's notes on omitted lines are not part of it, because
// they do not report those lines.
struct ReportedText {
  std::string_view text;                           // facts and totals, as shown
  const std::vector<std::string_view>& accounted;  // parts of lines that need not be reported
};

// A line counts as reported if most of its words are in `text`, in any order.
CanaryReport scan_for_lost_lines(Lines lines, const ReportedText& reported);

}  // namespace nutshell::compaction
