// Handles lines that are not the parser's own tool's: finds diagnostics of other tools in the same
// stream, keeps lines that look like errors, and sets the rest aside.
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

// Returns whether a line near the start or the end satisfies the test. Does not read the middle of
// a long output, so that recognising costs the same whatever the size.
bool has_line(Lines lines, bool (*test)(std::string_view line));

// Returns the numbers and the words behind them: "3 failed, 2 passed", "1 passed; 0 failed;".
std::vector<Total> counted_words(std::string_view text);

// Returns what a failed test printed: all of it if it is short, else its start and end, lines that
// look like errors, and lines unlike the others.
std::vector<std::string> condensed(std::span<const std::string_view> lines, Ledger& ledger);

}  // namespace nutshell::compaction
