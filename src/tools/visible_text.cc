#include "tools/visible_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace nutshell {
namespace {

unsigned byte_at(std::string_view bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

// Encodings that are too long, halves of surrogate pairs and what lies beyond Unicode.
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
    if ((byte_at(bytes, i) & 0xc0U) != 0x80) return 0;
  }
  return length;
}

// Nearly all text is, and then nothing has to be looked at twice.
bool is_valid(std::string_view bytes) {
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

std::string valid_text(std::string_view bytes) {
  if (is_valid(bytes)) return std::string(bytes);
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) {
      text += fmt::format("\\x{:02x}", byte_at(bytes, 0));
    } else {
      text += bytes.substr(0, length);
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::string visible_name(std::string_view name) {
  const bool is_plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '"';
  });
  if (is_plain) return std::string(name);
  std::string text;
  bool is_quoted = name.empty() || name.front() == ' ' || name.back() == ' ';
  for (std::size_t i = 0; i < name.size();) {
    const unsigned byte = byte_at(name, i);
    const std::size_t length = utf8_length(name.substr(i));
    const bool is_control = byte < 0x20 || byte == 0x7f || length == 0;
    is_quoted = is_quoted || is_control || byte == '"';
    if (name[i] == '\n') {
      text += "\\n";
    } else if (is_control) {
      text += fmt::format("\\x{:02x}", byte);
    } else if (name[i] == '"') {
      text += "\\\"";
    } else {
      text += name.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return is_quoted ? "\"" + text + "\"" : text;
}

std::string short_size(std::uint64_t bytes) {
  constexpr std::array<char, 5> kUnits = {'k', 'M', 'G', 'T', 'P'};
  if (bytes < 1000) return std::to_string(bytes);
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (size /= 1024; size >= 1000 && unit + 1 < kUnits.size(); size /= 1024)
    ++unit;
  return size < 9.95 ? fmt::format("{:.1f}{}", size, kUnits[unit])
                     : fmt::format("{:.0f}{}", size, kUnits[unit]);
}

}  // namespace nutshell
