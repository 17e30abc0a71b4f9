#include "compaction/parsers/git_blame_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

struct BlamedLine {
  std::string origin;  // commit, file if it has another name, author, day
  std::uint64_t number = 0;
  std::string_view code;
};

// "4a5b6c7d src/a.c (Ann Lee 2026-01-02 10:20:30 +0100 12) code"
std::optional<BlamedLine> parse_line(std::string_view line) {
  auto text = line;
  const auto hash = take_word(text);
  const auto digits = hash.starts_with('^') ? hash.substr(1) : hash;
  const bool is_hash =
      digits.size() >= 7 && digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  const auto file = take_until(text, "(");
  if (!is_hash || !file) return std::nullopt;
  const auto heading = take_until(text, ") ");
  const auto inside = heading ? *heading : trim_right(text);
  auto words = split_words(inside.ends_with(')') ? inside.substr(0, inside.size() - 1) : inside);
  if (words.size() < 5) return std::nullopt;
  BlamedLine blamed;
  auto number = words.back();
  const auto taken = take_number(number);
  if (!taken || !number.empty()) return std::nullopt;
  blamed.number = *taken;
  const auto day = words[words.size() - 4];
  if (day.size() != 10 || day[4] != '-') return std::nullopt;
  words.resize(words.size() - 4);
  blamed.origin = fmt::format("{} {} {}{}{}", digits.substr(0, 7), fmt::join(words, " "), day,
                              is_blank(*file) ? "" : " ", trim(*file));
  if (heading) blamed.code = text;
  return blamed;
}

bool recognises_git_blame(const ParserInput& input) {
  return input.lines.size() > 3 && parse_line(input.lines.front()) &&
         parse_line(input.lines.back());
}

std::optional<Facts> parse_git_blame(const ParserInput& input) {
  Facts facts;
  facts.is_data = true;
  facts.tool = "git blame";
  std::string origin;
  std::uint64_t expected = 0;
  for (const auto line : input.lines) {
    auto blamed = parse_line(line);
    if (!blamed) return std::nullopt;
    if (blamed->origin != origin) {
      facts.kept.push_back(fmt::format("{} {}:", blamed->origin, blamed->number));
    } else if (blamed->number != expected) {
      facts.kept.push_back(fmt::format("{}:", blamed->number));
    }
    origin = std::move(blamed->origin);
    expected = blamed->number + 1;
    facts.kept.push_back(fmt::format(" {}", blamed->code));
  }
  facts.totals = {{"lines", input.lines.size()}};
  facts.omitted = {{"times of day", input.lines.size()}};
  return facts;
}

}  // namespace

Parser git_blame_parser() {
  return {"git blame", recognises_git_blame, parse_git_blame};
}

}  // namespace nutshell::compaction
