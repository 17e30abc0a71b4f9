// Reads what gcc, clang and their linkers print: a location, a severity word and a message,
// with include chains and template backtraces before it and excerpts and notes behind it.
#pragma once

#include <optional>
#include <string_view>

#include "compaction/parsers/ledger.h"

namespace nutshell::compaction {

// Takes one diagnostic with all that belongs to it, or a line that only leads to one. Returns
// false, and leaves the cursor, if the line is not a compiler's.
bool take_gcc_diagnostic(LineCursor& cursor, Ledger& ledger);
// The same for a message of ld, gold, lld or mold, and for "g++: error: no input files".
bool take_linker_message(LineCursor& cursor, Ledger& ledger);

// "c++", "x86_64-linux-gnu-gcc-12", "/usr/bin/clang": programs that compile, link or archive.
bool is_compiler_program(std::string_view path);

// "warning: text [-Wrule]" as a diagnostic without a place; nothing when no severity word leads.
std::optional<Diagnostic> severity_message(std::string_view text);

}  // namespace nutshell::compaction
