// UTF-8, character by character.
#pragma once

#include <cstddef>
#include <string_view>

namespace nutshell {

// The number of bytes of the character at the start of `bytes`; 0 if there is no valid one.
std::size_t utf8_length(std::string_view bytes);

// The character that the whole of `bytes` encodes, which must be one valid character.
char32_t utf8_character(std::string_view bytes);

bool is_utf8(std::string_view bytes);

}  // namespace nutshell
