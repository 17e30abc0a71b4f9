// How a line of the command's goes into the text: as data. It cannot pass for one of ours, and a
// very long one is cut with its length said.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nutshell::compaction {

inline constexpr std::size_t kLongestLine = 1000;  // bytes shown of one line

// True for what only we may say: a status, a recall call, a note on what was left out.
bool looks_like_ours(std::string_view line);

// The line, with "| " ahead of it if it looks like ours or gives orders to who reads it.
std::string as_data(std::string_view line);

// At most kLongestLine bytes, whole characters, around `focus`.
std::string shortened(std::string_view line, std::size_t focus = 0);

}  // namespace nutshell::compaction
