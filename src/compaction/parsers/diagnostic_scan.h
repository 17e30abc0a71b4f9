// What every parser does with lines that are not its own tool's: diagnostics of other tools in the
// same stream are found, lines that look wrong are kept, the rest is counted.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/parsers/ledger.h"

namespace nutshell::compaction {

// Takes at least one line, unless the cursor is done.
void take_unknown(LineCursor& cursor, Ledger& ledger);

// Whether a line near the beginning or the end satisfies the test; the middle of a long output is
// not read, so that recognising costs the same whatever the size.
bool has_line(Lines lines, bool (*test)(std::string_view line));

// "3 failed, 2 passed" and "1 passed; 0 failed;": numbers and the words behind them.
std::vector<Total> counted_words(std::string_view text);

// What a failed test printed: all of it when it is short, else what looks wrong and the end.
std::vector<std::string> condensed(std::span<const std::string_view> lines, Ledger& ledger);

}  // namespace nutshell::compaction
