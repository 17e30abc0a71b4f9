// The last look before a text is given out: which lines of the output look like errors, are not
// told by the facts and were not accounted for by the parser. One that misses many of them is not
// believed at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compaction/parser.h"

namespace nutshell::compaction {

struct CanaryReport {
  // Lines that differ only in numbers count once.
  std::size_t hits = 0;              // lines that look like errors or warnings
  std::size_t missed = 0;            // of them, not told
  std::vector<std::size_t> missing;  // their indices, the first ones

  [[nodiscard]] bool is_bad() const { return missed > 3 && missed * 3 > hits; }
};

// What stands between the output and the text. Not the text itself: what it says of lines that were
// left out is no proof that they are told.
struct ToldFacts {
  std::string_view text;                           // the facts and totals, as they are shown
  const std::vector<std::string_view>& accounted;  // parts of lines that need not be
};

// A line is told when most of its words stand among the facts, in whatever order.
CanaryReport scan_for_lost_lines(Lines lines, const ToldFacts& told);

}  // namespace nutshell::compaction
