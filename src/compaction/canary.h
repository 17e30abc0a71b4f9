// The last look before a text is given out: which lines of the output look like errors and are not
// told by it. A parser that misses many of them is not believed at all.
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

// A line is told when most of its words stand in the text, in whatever order.
CanaryReport scan_for_lost_lines(Lines lines, std::string_view text);

}  // namespace nutshell::compaction
