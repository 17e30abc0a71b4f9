#include "cli/json_edit.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace nutshell::cli {
namespace {

using Json = nlohmann::ordered_json;

// The position behind the comment at `at`; `at` if there is none.
std::size_t skip_comment(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("//")) return std::min(text.find('\n', at), text.size());
  if (!rest.starts_with("/*")) return at;
  const std::size_t end = text.find("*/", at + 2);
  return end == std::string_view::npos ? text.size() : end + 2;
}

// The position of the next character that is neither space nor comment.
std::size_t next_meaning(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const std::size_t behind = skip_comment(text, at);
    const bool is_space = std::string_view(" \t\r\n").find(text[at]) != std::string_view::npos;
    if (behind == at && !is_space) return at;
    at = behind == at ? at + 1 : behind;
  }
  return text.size();
}

std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

// The same document as plain JSON.
std::string plain_json(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      const std::size_t end = end_of_string(text, at);
      plain += text.substr(at, end - at);
      at = end;
      continue;
    }
    if (const std::size_t behind = skip_comment(text, at); behind != at) {
      plain += ' ';
      at = behind;
      continue;
    }
    const std::size_t next = text[at] == ',' ? next_meaning(text, at + 1) : text.size();
    const bool is_trailing = next < text.size() && (text[next] == '}' || text[next] == ']');
    if (!is_trailing) plain += text[at];
    ++at;
  }
  return plain;
}

}  // namespace

std::optional<Json> parse_edited_json(std::string_view text) {
  Json parsed = Json::parse(plain_json(text), nullptr, false);
  if (!parsed.is_object()) return std::nullopt;
  return parsed;
}

std::string indented_json(const Json& value, std::size_t columns) {
  std::string text;
  for (const char c : value.dump(2)) {
    text += c;
    if (c == '\n') text.append(columns, ' ');
  }
  return text;
}

std::string insert_first(const std::string& text, std::size_t bracket, const std::string& item,
                         std::size_t columns) {
  const std::size_t next = next_meaning(text, bracket + 1);
  const bool is_empty = next < text.size() && (text[next] == '}' || text[next] == ']');
  const bool has_comment = text.find_first_not_of(" \t\r\n", bracket + 1) != next;
  const std::string pad(columns, ' ');
  const std::string middle = fmt::format("\n{}{}", pad, item);
  if (is_empty && !has_comment)
    return text.substr(0, bracket + 1) + middle + "\n" + pad.substr(2) + text.substr(next);
  return text.substr(0, bracket + 1) + middle + (is_empty ? "" : ",") + text.substr(bracket + 1);
}

}  // namespace nutshell::cli
