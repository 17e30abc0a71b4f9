// What a misspelt path may have been meant as.
#pragma once

#include <string>
#include <string_view>

namespace nutshell::init {

// Letters to insert, delete, replace or swap with their neighbour to get from one to the other;
// gives up beyond `most` and returns more than that.
std::size_t edit_distance(std::string_view left, std::string_view right, std::size_t most);

// A path that exists and differs from `path` in the first component that does not; empty: none is
// near.
std::string near_path(const std::string& path);

}  // namespace nutshell::init
