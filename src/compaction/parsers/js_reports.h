// What the JavaScript test runners have in common: how an error with its diff, code excerpt and
// stack is printed.
#pragma once

#include <string_view>

#include "compaction/parsers/ledger.h"

namespace nutshell::compaction {

// "  > 4 |   code", "    4|  code" and "      |   ^"
bool is_js_excerpt(std::string_view line);

// An error's lines: the place is the first of the user's own frames, the detail what is left when
// excerpts and other frames are counted out.
void describe_js_error(Lines lines, Ledger& ledger, Failure& failure);

// "✓ adds (2 ms)": a mark and a name. Empty: no such line.
struct MarkedTest {
  enum class Mark : std::uint8_t { None, Passed, Failed, Other };
  Mark mark = Mark::None;
  std::string_view name;  // without the time behind it
};
MarkedTest marked_test(std::string_view line);

// "6 failed, 1 skipped, 11 total" and "4 failed | 4 passed (10)" as totals; "passed" and "failed"
// of things other than tests get `kind` before them: "suites failed".
void add_js_totals(std::string_view text, std::string_view kind, Ledger& ledger);

}  // namespace nutshell::compaction
