// Puts a line of the command's output into the text as data: marked if it looks like one of our own
// lines, and cut, with its length, if it is very long.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nutshell::compaction {

inline constexpr std::size_t kLongestLine = 1000;  // bytes shown of one line

// Returns whether a line looks like one of ours: a status, a recall call, a note on what was left
// out.
bool looks_like_ours(std::string_view line);

// Returns the line, with "| " in front if it looks like ours or instructs its reader.
std::string as_data(std::string_view line);

// Cuts a line to at most kLongestLine bytes around `focus`, at whole characters.
std::string shortened(std::string_view line, std::size_t focus = 0);

}  // namespace nutshell::compaction
