// Reads Python's tracebacks, wherever they stand in an output.
#pragma once

#include <optional>

#include "compaction/facts.h"
#include "compaction/parsers/ledger.h"

namespace nutshell::compaction {

bool starts_traceback(std::string_view line);  // "Traceback (most recent call last):"

// Takes a traceback at the cursor: its message is the exception's line, its detail the user's own
// frames and the rest of a longer message. Returns nullopt, and leaves the cursor, if there is
// none.
std::optional<Diagnostic> take_traceback(LineCursor& cursor, Ledger& ledger);
// Takes a chain of tracebacks, or a syntax error, and adds them to the ledger.
bool take_tracebacks(LineCursor& cursor, Ledger& ledger);

// "During handling of the above exception, another exception occurred:" and its sister
bool is_traceback_link(std::string_view line);

}  // namespace nutshell::compaction
