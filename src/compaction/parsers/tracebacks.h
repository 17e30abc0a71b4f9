// Python's tracebacks, wherever they stand in an output.
#pragma once

#include <optional>

#include "compaction/facts.h"
#include "compaction/parsers/ledger.h"

namespace nutshell::compaction {

bool starts_traceback(std::string_view line);  // "Traceback (most recent call last):"

// One traceback: the place, the exception's line as the message, the user's own frames and the rest
// of a longer message as the detail. The cursor stands on its first line. Nothing, and the cursor
// unmoved, when it is none.
std::optional<Diagnostic> take_traceback(LineCursor& cursor, Ledger& ledger);
// A chain of them, or a syntax error, as diagnostics of the ledger.
bool take_tracebacks(LineCursor& cursor, Ledger& ledger);

// "During handling of the above exception, another exception occurred:" and its sister
bool is_traceback_link(std::string_view line);

}  // namespace nutshell::compaction
