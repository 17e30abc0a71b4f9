#pragma once

#include <cstddef>
#include <string_view>

namespace nutshell {

// Counts the letters to insert, delete, replace or swap with their neighbour to turn one text into
// the other. Gives up beyond `most`, or if a text is longer than 255 bytes, and returns more than
// `most`.
std::size_t edit_distance(std::string_view left, std::string_view right, std::size_t most);

}  // namespace nutshell
