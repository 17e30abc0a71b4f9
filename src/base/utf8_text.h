// Cuts, counts and makes UTF-8 text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nutshell {

// Whether a byte of valid text is not the first one of its character.
inline bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

// The number of characters of valid text.
std::size_t count_characters(std::string_view text);

// The longest beginning of valid text that has at most `most` bytes and ends between characters.
std::string_view whole_characters(std::string_view text, std::size_t most);

// Appends the encoding of a number below 0x110000.
void append_utf8(std::string& text, char32_t character);

}  // namespace nutshell
