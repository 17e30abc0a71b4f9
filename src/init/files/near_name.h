// Suggests the path that a misspelt one may have been meant as.
#pragma once

#include <string>
#include <string_view>

namespace nutshell::init {

// Counts the letters to insert, delete, replace or swap with their neighbour to get from one to the
// other; gives up beyond `most` and returns more than that.
std::size_t edit_distance(std::string_view left, std::string_view right, std::size_t most);

// Returns a path that exists and differs from `path` in its first component that does not exist;
// empty if none is near.
std::string near_path(const std::string& path);

}  // namespace nutshell::init
