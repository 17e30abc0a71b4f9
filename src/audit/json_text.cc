#include "audit/json_text.h"

#include <fmt/format.h>

#include <iterator>

#include "base/utf8.h"

namespace nutshell::audit {
namespace {

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
    const std::size_t length = utf8_length(text);
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
