// Reads one diagnostic of any compiler, linter or checker from a line: a place, and what is said of
// it. Knows the forms of a place and of a severity, not the tools.
#pragma once

#include <optional>
#include <string_view>

#include "compaction/facts.h"

namespace nutshell::compaction {

// "a.py:3:5: E501 too long", "a.cs(3,5): error CS1002: ; expected", "Dockerfile:3 DL3006 warning:
// x", "  /p/a.py:3:5 - error: x (rule)", "a.pl: x at line 3, column 5.". nullopt if the line has no
// place or says nothing of it.
std::optional<Diagnostic> read_diagnostic(std::string_view line);

// "  3:5  error  too long  (line-length)" below a line that names the file.
std::optional<Diagnostic> read_row(std::string_view line, std::string_view file);

// Reads what is said of a place: severity, code, message and rule, in the orders that tools use.
void read_message(std::string_view text, Diagnostic& diagnostic);

// "src/a.cc:3:5" and "src/a.cc:3" alone, as in "--> src/a.cc:3:5".
std::optional<Location> read_place(std::string_view text);

// A place, and what is said of it on the same line.
struct SaidPlace {
  Location where;
  std::string_view rest;
};

// `File "a.ml", line 2, characters 4-9:`, which ends in a colon; the rest is "characters 4-9".
std::optional<SaidPlace> read_file_place(std::string_view line);

// The only path among the few words of a heading: "FILE: /srv/a.php", "== [a.sql] FAIL"; or "".
std::string_view path_in(std::string_view line);

// "12 | ERROR | text" and "L: 3 | P: 10 | LT01 | text" below a line that names the file.
std::optional<Diagnostic> read_divided_row(std::string_view line, std::string_view file);

// "text" in "   |       | text", which goes on about the row above; or "".
std::string_view more_of_divided_row(std::string_view line);

// Whether the text is one path: no blanks, and a directory or an extension.
bool is_path(std::string_view text);

// "    ^~~~~" and "  | ^^^ ---": marks below a line of source.
bool is_caret_line(std::string_view line);

}  // namespace nutshell::compaction
