// Reads what the JavaScript test runners have in common: errors with diff, code excerpt and stack,
// marked tests, totals, and the coverage table of Istanbul.
#pragma once

#include <string_view>

#include "compaction/parsers/ledger.h"

namespace nutshell::compaction {

// Returns whether a line is part of a code excerpt: "  > 4 |   code", "    4|  code", "      | ^".
bool is_js_excerpt(std::string_view line);

// Fills in a failure from the lines of its error: its place is the first frame in the user's code,
// its detail all but excerpts and other frames.
void describe_js_error(Lines lines, Ledger& ledger, Failure& failure);

// The parts of "✓ adds (2 ms)".
struct MarkedTest {
  enum class Mark : std::uint8_t { None, Passed, Failed, Other };
  Mark mark = Mark::None;
  std::string_view name;  // without the time behind it
};
MarkedTest marked_test(std::string_view line);
// Counts a marked test; one that was skipped or is to be written is shown if there are few.
void account_for_test(std::string_view line, const MarkedTest& test, Ledger& ledger);

// Takes a line of a coverage table: "  a.js | 85.71 | 50 | 100 | 85.71 | 12-13", also with node's
// "# " or "ℹ " before it. Counts files that are covered whole. Returns false for any other line.
bool take_coverage_row(LineCursor& cursor, Ledger& ledger);

// Adds the totals of "6 failed, 1 skipped, 11 total" and "4 failed | 4 passed (10)". Totals of
// things other than tests get `kind` before them: "suites failed".
void add_js_totals(std::string_view text, std::string_view kind, Ledger& ledger);

}  // namespace nutshell::compaction
