#include "compaction/line_shapes.h"

#include <algorithm>
#include <array>
#include <string>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  if (text.empty()) return false;
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view start) {
    return text.front() == start.front() && text.starts_with(start);
  });
}

// "-----", "=====": separates as a blank line does.
bool is_rule(std::string_view line) {
  const auto text = trim(line);
  if (text.size() < 3) return false;
  if (text == "\xe2\x95\xb7" || text == "\xe2\x95\xb5") return true;  // ends of a bar: ╷ and ╵
  const char first = text.front();
  const auto other = text.find_first_not_of(first);
  const bool has_parts = other != std::string_view::npos && other >= 3 && text[other] == ' ' &&
                         text.find_first_not_of("- ") == std::string_view::npos;
  if (other == std::string_view::npos || has_parts)
    return std::string_view("-=*_~#+").find(first) != std::string_view::npos;
  return text.find_first_not_of("\xe2\x94\x80\x81\x95\x90 ") == std::string_view::npos;
}

// "  ╰╴    ━━━━": the last row of a drawn excerpt, with marks and no words.
bool is_closing_corner(std::string_view text) {
  constexpr std::string_view kCorner = "\xe2\x95\xb0";  // ╰
  if (!text.starts_with(kCorner)) return false;
  return std::none_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0x80U) == 0 && c != ' ' && c != '-' && c != '^';
  });
}

}  // namespace

bool is_progress(std::string_view line) {
  auto text = trim_left(line);
  if (contains(text, "%]") || contains(text, "% ")) return true;
  const auto word = take_word(text);
  constexpr std::size_t kShortest = 6;
  return word.size() >= kShortest && word.ends_with("ing") &&
         std::all_of(word.begin(), word.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

bool is_table_row(std::string_view line) {
  if (contains(line, " | ")) return true;
  const auto text = trim(line);
  const auto gap = text.find("  ");
  if (gap == std::string_view::npos) return false;
  const auto behind = trim_left(text.substr(gap));
  return behind.find("  ") != std::string_view::npos;
}

std::string_view without_bar(std::string_view line) {
  auto text = trim_right(line);
  const auto end = text.find_last_not_of("*=-_ ");
  if (end != std::string_view::npos && text.size() - end > 8) return text.substr(0, end + 1);
  for (const std::string_view bar : {"\xe2\x94\x81", "\xe2\x94\x80", "\xe2\x95\x90"}) {
    if (!text.ends_with(bar)) continue;
    while (text.ends_with(bar))
      text.remove_suffix(bar.size());
    return trim_right(text);
  }
  return text;
}

bool is_separator(std::string_view line) {
  return is_blank(line) || is_rule(line);
}

bool has_count_of(std::string_view text) {
  constexpr std::array<std::string_view, 24> kCounted = {
      "passed",    "failed",     "failure",   "error",   "warning",   "test",
      "example",   "assertion",  "problem",   "skipped", "pending",   "to add",
      "to change", "to destroy", "issue",     "offense", "violation", "vulnerab",
      "file",      "successful", "succeeded", "total",   "ran",       "left out"};
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at]) || (at > 0 && text[at - 1] != ' ' && text[at - 1] != '(')) continue;
    while (at < text.size() && (is_digit(text[at]) || text[at] == '/' || text[at] == ','))
      ++at;
    std::string behind(trim_left(text.substr(at)).substr(0, 12));
    for (char& character : behind)
      character =
          character >= 'A' && character <= 'Z' ? static_cast<char>(character | 0x20) : character;
    for (const auto word : kCounted) {
      if (behind.starts_with(word)) return true;
    }
  }
  return false;
}

bool is_summary(std::string_view line) {
  const auto text = trim(line);
  if (text.empty() || text.size() > 300) return false;
  if (starts_with_any(
          text, {"Total",  "TOTAL",   "Summary",    "SUMMARY",       "Result",         "RESULT",
                 "Plan: ", "Tests: ", "Tests run",  "Finished",      "Found ",         "Ran ",
                 "Done",   "Failed",  "FAILED",     "PASSED",        "Apply complete", "Success",
                 "OK (",   "BUILD ",  "PLAY RECAP", "ERROR SUMMARY", "Time: ",         "Files="}))
    return true;
  const bool is_progress = contains(text, "% done") || contains(text, "%]");
  return !is_progress && has_count_of(text);
}

bool is_source_row(std::string_view line) {
  auto text = trim_left(line);
  (void)take_prefix(text, ">");
  text = trim_left(text);
  const bool has_number = take_number(text).has_value();
  text = trim_left(text);
  (void)take_number(text);  // biome numbers both sides of a change
  text = trim_left(text);
  if (is_closing_corner(text)) return true;
  if (!take_prefix(text, "|") && !take_prefix(text, "\xe2\x94\x82")) return false;
  return has_number || trim(text).find_first_not_of("^~-") == std::string_view::npos ||
         trim(text) == "1";  // gfortran's mark, to which its message refers
}

std::string_view shared_prefix(Lines lines) {
  const auto prefix_of = [](std::string_view line) -> std::string_view {
    auto rest = line;
    if (!take_prefix(rest, "==") || !take_number(rest) || !take_prefix(rest, "==")) return {};
    return line.substr(0, line.size() - rest.size());
  };
  std::string_view prefix;
  std::size_t count = 0;
  for (const auto line : lines) {
    if (prefix.empty()) prefix = prefix_of(line);
    count += !prefix.empty() && line.starts_with(prefix) ? 1 : 0;
  }
  return count * 10 >= lines.size() * 6 ? prefix : std::string_view();
}

}  // namespace nutshell::compaction
