// Reads javac's diagnostics and Java's stack traces, as maven, gradle and JUnit print them too.
#pragma once

#include "compaction/parsers/ledger.h"

namespace nutshell::compaction {

// "A.java:2: error: cannot find symbol", the code and the mark below it, and what javac adds:
// "  symbol:   variable x". False: there is none at the cursor.
bool take_javac_diagnostic(LineCursor& cursor, Ledger& ledger);

// An exception's lines: the place is the first of the user's own frames, the detail its messages
// and causes.
void describe_java_error(Lines lines, Ledger& ledger, Failure& failure);

}  // namespace nutshell::compaction
