#include "base/utf8.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "base/utf8_text.h"

namespace nutshell {
namespace {

unsigned byte_at(std::string_view bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

// Overlong encodings, halves of surrogate pairs and numbers beyond Unicode.
bool is_forbidden(unsigned first, unsigned second) {
  return (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
         (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
}

}  // namespace

std::size_t utf8_length(std::string_view bytes) {
  if (bytes.empty()) return 0;
  const unsigned first = byte_at(bytes, 0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  if (first >= 0xc2 && first <= 0xdf) length = 2;
  if (first >= 0xe0 && first <= 0xef) length = 3;
  if (first >= 0xf0 && first <= 0xf4) length = 4;
  if (length == 0 || bytes.size() < length || is_forbidden(first, byte_at(bytes, 1))) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_inside_character(bytes[i])) return 0;
  }
  return length;
}

char32_t utf8_character(std::string_view bytes) {
  constexpr std::array<unsigned, 5> kFirstBits = {0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t character = byte_at(bytes, 0) & kFirstBits[bytes.size()];
  for (std::size_t i = 1; i < bytes.size(); ++i)
    character = (character << 6U) | (byte_at(bytes, i) & 0x3fU);
  return character;
}

// Takes eight bytes of ASCII at a time.
bool is_utf8(std::string_view bytes) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;
  while (!bytes.empty()) {
    std::uint64_t eight = kHighBits;
    if (bytes.size() >= sizeof eight) std::memcpy(&eight, bytes.data(), sizeof eight);
    const std::size_t length = (eight & kHighBits) == 0 ? sizeof eight : utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

}  // namespace nutshell
