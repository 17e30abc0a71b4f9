#include "base/safe_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace nutshell {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Characters that show nothing, or change the order in which others are shown.
constexpr std::array<Range, 19> kHidden = {{
    {0x00ad, 0x00ad},    // soft hyphen
    {0x034f, 0x034f},    // combining grapheme joiner
    {0x061c, 0x061c},    // Arabic letter mark
    {0x115f, 0x1160},    // Hangul fillers
    {0x17b4, 0x17b5},    // Khmer inherent vowels
    {0x180b, 0x180f},    // Mongolian selectors and separator
    {0x200b, 0x200b},    // zero width space
    {0x200e, 0x200f},    // marks for left and right
    {0x2028, 0x202e},    // separators of lines and paragraphs, embeddings and overrides
    {0x2060, 0x206f},    // word joiner, invisible operators, isolates, deprecated controls
    {0x3164, 0x3164},    // Hangul filler
    {0xfeff, 0xfeff},    // byte order mark
    {0xffa0, 0xffa0},    // half width Hangul filler
    {0xfff0, 0xfffb},    // unassigned, and interlinear annotations
    {0xfffe, 0xffff},    // no characters
    {0x1bca0, 0x1bca3},  // shorthand controls
    {0x1d173, 0x1d17a},  // musical controls
    {0xe0000, 0xe007f},  // tags
    {0xe0080, 0xe0fff},  // further selectors, and unassigned ones that show nothing
}};

// Joiners and selectors are allowed one at a time, between letters of some scripts or behind an
// emoji. A row of them can spell out a hidden message.
bool is_hidden_in_a_row(char32_t character) {
  return character == 0x200c || character == 0x200d || (character >= 0xfe00 && character <= 0xfe0f);
}

bool is_control(char32_t character) {
  return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

enum class Controls { Shown, Escaped, EscapedInLines };
enum class Escape { Visible, JsonValue, JsonVisible };

bool is_escaped(char32_t character, Controls controls) {
  if (is_hidden_character(character)) return true;
  if (!is_control(character) || controls == Controls::Shown) return false;
  const bool is_layout = character == '\n' || character == '\t';
  return controls == Controls::Escaped || !is_layout;
}

void add_escape(std::string& text, char32_t character, Escape escape) {
  const auto number = static_cast<std::uint32_t>(character);
  if (escape == Escape::JsonValue) {
    if (number < 0x10000) {
      text += fmt::format("\\u{:04x}", number);
    } else {
      text += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((number - 0x10000) >> 10U),
                          0xdc00 + ((number - 0x10000) & 0x3ffU));
    }
    return;
  }
  const std::string_view slash = escape == Escape::JsonVisible ? "\\\\" : "\\";
  if (character == '\n' || character == '\t') {
    text += fmt::format("{}{}", slash, character == '\n' ? 'n' : 't');
  } else if (number < 0x80) {
    text += fmt::format("{}x{:02x}", slash, number);
  } else {
    text += fmt::format("{}u{{{:x}}}", slash, number);
  }
}

bool is_plain(std::string_view text, Controls controls) {
  return std::all_of(text.begin(), text.end(), [controls](char byte) {
    const auto code = static_cast<unsigned char>(byte);
    return code < 0x80 && !is_escaped(code, controls);
  });
}

std::string made_safe(std::string_view text, Controls controls, Escape escape) {
  if (is_plain(text, controls)) return std::string(text);
  std::string safe;
  safe.reserve(text.size() + text.size() / 8);
  bool was_joiner = false;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      const std::string_view slash = escape == Escape::Visible ? "\\" : "\\\\";
      safe += fmt::format("{}x{:02x}", slash, static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      was_joiner = false;
      continue;
    }
    const char32_t character = utf8_character(text.substr(0, length));
    const bool is_joiner = is_hidden_in_a_row(character);
    if (is_escaped(character, controls) || (is_joiner && was_joiner)) {
      add_escape(safe, character, escape);
    } else {
      safe += text.substr(0, length);
    }
    was_joiner = is_joiner;
    text.remove_prefix(length);
  }
  return safe;
}

}  // namespace

bool is_hidden_character(char32_t character) {
  return std::any_of(kHidden.begin(), kHidden.end(), [character](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

std::string terminal_line(std::string_view text) {
  return made_safe(text, Controls::Escaped, Escape::Visible);
}

std::string terminal_text(std::string_view text) {
  return made_safe(text, Controls::EscapedInLines, Escape::Visible);
}

std::string model_text(std::string_view text) {
  return made_safe(text, Controls::Shown, Escape::Visible);
}

std::string terminal_json(std::string_view json) {
  return made_safe(json, Controls::EscapedInLines, Escape::JsonValue);
}

std::string model_json(std::string_view json) {
  return made_safe(json, Controls::Shown, Escape::JsonVisible);
}

}  // namespace nutshell
