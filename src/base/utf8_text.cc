#include "base/utf8_text.h"

#include <algorithm>

namespace nutshell {

std::size_t count_characters(std::string_view text) {
  return text.size() -
         static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_inside_character));
}

std::string_view whole_characters(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && is_inside_character(text[most]))
    --most;
  return text.substr(0, most);
}

void append_utf8(std::string& text, char32_t character) {
  const auto add = [&](char32_t first_bits, unsigned shift) {
    text += static_cast<char>(first_bits | ((character >> shift) & 0x3fU));
  };
  if (character < 0x80) {
    text += static_cast<char>(character);
    return;
  }
  if (character < 0x800) {
    add(0xc0, 6);
  } else {
    if (character < 0x10000) {
      add(0xe0, 12);
    } else {
      add(0xf0, 18);
      add(0x80, 12);
    }
    add(0x80, 6);
  }
  add(0x80, 0);
}

}  // namespace nutshell
