#include "compaction/text_scan.h"

#include <fmt/format.h>

#include <limits>

namespace nutshell::compaction {
namespace {

bool is_space(char character) {
  return character == ' ' || character == '\t';
}

}  // namespace

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

bool is_blank(std::string_view text) {
  return trim_left(text).empty();
}

std::string_view trim_left(std::string_view text) {
  text.remove_prefix(indent_of(text));
  return text;
}

std::string_view trim_right(std::string_view text) {
  while (!text.empty() && is_space(text.back()))
    text.remove_suffix(1);
  return text;
}

std::string_view trim(std::string_view text) {
  return trim_right(trim_left(text));
}

std::size_t indent_of(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_space(text[count]))
    ++count;
  return count;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<std::uint64_t> take_number(std::string_view& text) {
  constexpr std::size_t kMostDigits = 19;  // numbers of so many digits fit 64 bits
  std::size_t count = 0;
  std::uint64_t number = 0;
  while (count < text.size() && is_digit(text[count])) {
    if (count == kMostDigits) return std::nullopt;
    number = number * 10 + static_cast<std::uint64_t>(text[count] - '0');
    ++count;
  }
  if (count == 0) return std::nullopt;
  text.remove_prefix(count);
  return number;
}

std::optional<std::uint32_t> take_small_number(std::string_view& text) {
  auto rest = text;
  const auto number = take_number(rest);
  if (!number || *number > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  text = rest;
  return static_cast<std::uint32_t>(*number);
}

std::string_view take_word(std::string_view& text) {
  auto rest = trim_left(text);
  std::size_t count = 0;
  while (count < rest.size() && !is_space(rest[count]))
    ++count;
  const auto word = rest.substr(0, count);
  text = trim_left(rest.substr(count));
  return word;
}

std::optional<std::string_view> take_until(std::string_view& text, std::string_view end) {
  const auto at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const auto taken = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return taken;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (auto word = take_word(text); !word.empty(); word = take_word(text))
    words.push_back(word);
  return words;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (auto at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  parts.push_back(text);
  return parts;
}

std::optional<LocatedText> split_location(std::string_view line) {
  constexpr std::size_t kLongestName = 4096;
  const bool has_drive = line.size() > 2 && line[1] == ':' && (line[2] == '\\' || line[2] == '/');
  const auto colon = line.substr(0, kLongestName).find(':', has_drive ? 2 : 0);
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto file = line.substr(0, colon);
  if (is_space(file.front()) || is_space(file.back())) return std::nullopt;

  auto rest = line.substr(colon + 1);
  const auto row = take_small_number(rest);
  if (!row || (!rest.empty() && rest.front() != ':')) return std::nullopt;
  LocatedText found{{std::string(file), *row, 0}, rest};
  if (!take_prefix(found.rest, ":")) return found;
  auto behind = found.rest;
  const auto column = take_small_number(behind);
  if (column && (behind.empty() || behind.front() == ':')) {
    found.where.column = *column;
    (void)take_prefix(behind, ":");  // absent at the end of the line
    found.rest = behind;
  }
  found.rest = trim_left(found.rest);
  return found;
}

std::string to_text(const Location& where) {
  if (where.line == 0) return where.file;
  if (where.column == 0) return fmt::format("{}:{}", where.file, where.line);
  return fmt::format("{}:{}:{}", where.file, where.line, where.column);
}

}  // namespace nutshell::compaction
