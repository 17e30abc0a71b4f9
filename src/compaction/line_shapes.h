// Shapes of single lines that decide how an outline treats them.
#pragma once

#include <string_view>

#include "compaction/parser.h"

namespace nutshell::compaction {

// Returns whether a line tells of a step under way, such as "Downloading x" or "reading sources...
// [ 50%] y": nobody asks for its names.
bool is_progress(std::string_view line);

// Returns whether a line has two gaps of several blanks or more, or a bar: the meaning of its
// columns stands in the heading of the table.
bool is_table_row(std::string_view line);

// Returns the line without the bar that fills it behind a heading.
std::string_view without_bar(std::string_view line);

// Returns whether a line separates parts: it is blank, or holds nothing but "-----", "=====".
bool is_separator(std::string_view line);

// Returns whether a number and the words of a verdict stand in a line: "3 passed", "2 failures",
// "Plan: 0 to add".
bool has_count_of(std::string_view text);

// Returns whether a line is a total or a verdict.
bool is_summary(std::string_view line);

// Returns whether a line is a row of quoted source: "  12 | text", "> 4 |   text", "   |   ^^^";
// not "   | ^^^ expected x", which says something.
bool is_source_row(std::string_view line);

// Returns what stands in front of most lines, such as "==4711== " of valgrind; empty if nothing
// does.
std::string_view shared_prefix(Lines lines);

}  // namespace nutshell::compaction
