#include "egress/inspect/secret_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/base64.h"
#include "http/message.h"

namespace nutshell::egress {
namespace {

// Letters that `escaped` has no text for stay as they are.
std::string with_escapes(std::string_view value, const std::function<std::string(char)>& escaped) {
  std::string text;
  for (const char letter : value) {
    const std::string instead = escaped(letter);
    text += instead.empty() ? std::string(1, letter) : instead;
  }
  return text;
}

bool is_one_of(char letter, std::string_view letters) {
  return letters.find(letter) != std::string_view::npos;
}

// In JSON a quote and a backslash are always escaped; `coded` letters are written as \u0026.
std::string in_json(std::string_view value, std::string_view coded) {
  return with_escapes(value, [&](char letter) -> std::string {
    if (is_one_of(letter, coded)) return fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
    if (is_one_of(letter, "\"\\")) return std::string("\\") + letter;
    return {};
  });
}

std::string with_escaped_slashes(std::string_view text) {
  return with_escapes(text, [](char letter) { return std::string(letter == '/' ? "\\/" : ""); });
}

std::string in_html(std::string_view value, std::string_view quote, std::string_view apostrophe) {
  return with_escapes(value, [&](char letter) -> std::string {
    if (letter == '&') return "&amp;";
    if (letter == '<') return "&lt;";
    if (letter == '>') return "&gt;";
    if (letter == '"') return std::string(quote);
    if (letter == '\'') return std::string(apostrophe);
    return {};
  });
}

// Percent encoding by functions that leave some letters alone.
std::string in_url(std::string_view value, std::string_view left_alone) {
  return with_escapes(value, [&](char letter) {
    return is_one_of(letter, left_alone) ? std::string(1, letter)
                                         : http::percent_encode(std::string_view(&letter, 1));
  });
}

// The letters of base64 that depend on the value alone, if `before` bytes stand before it and any
// others behind it.
std::string in_base64(std::string_view value, std::size_t before) {
  const std::string all = to_base64(std::string(before, 'x') + std::string(value));
  const std::size_t first = (before * 8 + 5) / 6;
  const std::size_t end = (before + value.size()) * 8 / 6;
  return all.substr(first, end - first);
}

std::string url_safe(std::string base64) {
  std::replace(base64.begin(), base64.end(), '+', '-');
  std::replace(base64.begin(), base64.end(), '/', '_');
  return base64;
}

std::string in_hexadecimal(std::string_view value) {
  std::string digits;
  for (const char letter : value)
    digits += fmt::format("{:02x}", static_cast<unsigned char>(letter));
  return digits;
}

}  // namespace

std::vector<std::string> forms_of(std::string_view value) {
  std::vector<std::string> forms = {std::string(value)};
  const auto add = [&](std::string form) {
    if (std::find(forms.begin(), forms.end(), form) == forms.end())
      forms.push_back(std::move(form));
  };
  for (const std::string_view left_alone : {"", "/", "!'()*", "/:@!$&'()*+,;="})
    add(in_url(value, left_alone));
  for (const std::string_view coded : {"", "<>&", "<>&'", "<>&'\"+"}) {
    add(in_json(value, coded));
    add(with_escaped_slashes(in_json(value, coded)));
  }
  add(in_html(value, "&quot;", "&#39;"));
  add(in_html(value, "&quot;", "&#039;"));
  add(in_html(value, "&quot;", "&#x27;"));
  add(in_html(value, "&#34;", "&#39;"));
  add(in_html(value, "&quot;", "'"));
  add(in_html(value, "\"", "'"));
  for (std::size_t before = 0; before < 3; ++before) {
    const std::string base64 = in_base64(value, before);
    add(base64);
    add(with_escaped_slashes(base64));
    add(url_safe(base64));
    add(in_url(base64, ""));
  }
  add(in_hexadecimal(value));
  return forms;
}

}  // namespace nutshell::egress
