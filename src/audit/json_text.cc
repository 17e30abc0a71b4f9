#include "audit/json_text.h"

#include <fmt/format.h>

#include <iterator>

namespace nutshell::audit {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

bool continues(std::string_view text, std::size_t at) {
  return (byte_at(text, at) & 0xc0U) == 0x80U;
}

// Length of the UTF-8 character at the start; 0 if it is invalid, overlong or a surrogate.
std::size_t character_length(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  const unsigned second = byte_at(text, 1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf && continues(text, 1)) return 2;
  const bool is_tail = continues(text, 1) && continues(text, 2);
  if (first >= 0xe0 && first <= 0xef && is_tail && !(first == 0xe0 && second < 0xa0) &&
      !(first == 0xed && second > 0x9f))
    return 3;
  if (first >= 0xf0 && first <= 0xf4 && is_tail && continues(text, 3) &&
      !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second > 0x8f))
    return 4;
  return 0;
}

void append_special(std::string& to, char c) {
  switch (c) {
    case '"':
      to += "\\\"";
      return;
    case '\\':
      to += "\\\\";
      return;
    case '\n':
      to += "\\n";
      return;
    default:
      fmt::format_to(std::back_inserter(to), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

bool is_plain(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code >= 0x20 && code < 0x7f && c != '"' && c != '\\';
}

}  // namespace

void append_json(std::string& to, std::string_view text) {
  to += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(text[plain]))
      ++plain;
    to += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t length = character_length(text);
    if (length > 1) {
      to += text.substr(0, length);
    } else if (length == 1) {
      append_special(to, text.front());
    } else {
      to += "\xef\xbf\xbd";
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  to += '"';
}

void JsonObject::begin(std::string_view name) {
  if (text_.size() > 1) text_ += ',';
  append_json(text_, name);
  text_ += ':';
}

void JsonObject::add(std::string_view name, std::string_view text) {
  begin(name);
  append_json(text_, text);
}

void JsonObject::add_number(std::string_view name, std::uint64_t number) {
  begin(name);
  fmt::format_to(std::back_inserter(text_), "{}", number);
}

void JsonObject::add_json(std::string_view name, std::string_view json) {
  begin(name);
  text_ += json;
}

}  // namespace nutshell::audit
