// Reads one diagnostic of any compiler, linter or checker from a line: a place, and what is said of
// it. Knows the forms of a place and of a severity, not the tools.
#pragma once

#include <optional>
#include <string_view>

#include "compaction/facts.h"

namespace nutshell::compaction {

// "a.py:3:5: E501 too long", "a.cs(3,5): error CS1002: ; expected", "Dockerfile:3 DL3006 warning:
// x", "  /p/a.py:3:5 - error: x (rule)". nullopt if the line has no place or says nothing of it.
std::optional<Diagnostic> read_diagnostic(std::string_view line);

// "  3:5  error  too long  (line-length)" below a line that names the file.
std::optional<Diagnostic> read_row(std::string_view line, std::string_view file);

// Reads what is said of a place: severity, code, message and rule, in the orders that tools use.
void read_message(std::string_view text, Diagnostic& diagnostic);

// "src/a.cc:3:5" and "src/a.cc:3" alone, as in "--> src/a.cc:3:5".
std::optional<Location> read_place(std::string_view text);

// Whether the text is one path: no blanks, and a directory or an extension.
bool is_path(std::string_view text);

// "    ^~~~~" and "  | ^^^ ---": marks below a line of source.
bool is_caret_line(std::string_view line);

}  // namespace nutshell::compaction
