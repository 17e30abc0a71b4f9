// Errors and warnings of cmake's configure step, which builds repeat whenever they configure anew.
#pragma once

#include <string_view>

#include "compaction/parsers/ledger.h"

namespace nutshell::compaction {

bool is_cmake_message(std::string_view line);  // its heading
// Takes one with its text and call stack. False: there is none at the cursor.
bool take_cmake_message(LineCursor& cursor, Ledger& ledger);

}  // namespace nutshell::compaction
