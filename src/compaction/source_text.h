// Shows a file that a command reads, as cat(1) and sed(1) do. Its lines are what was asked for:
// nothing is folded, and a line with the word "error" reports no error.
#pragma once

#include "compaction/captured.h"
#include "compaction/draft.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

// Whether the command prints a file that is no log: `cat a.py`, `sed -n 1,9p a.c`, `git show
// x:a.c`.
bool reads_source(const CommandWords& command);

// Whether a file is a report of tests or checks, which is read for what failed.
bool is_report(Lines lines);

// The first lines that fit the budget, and the call that shows the next.
Draft render_start(const Captured& captured, Lines lines, std::size_t max_tokens);

}  // namespace nutshell::compaction
