#include "compaction/parsers/grep_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "compaction/parsers/text_scan.h"

namespace nutshell::compaction {
namespace {

// "src/a.c:12:text"; with context also "src/a.c-11-text". Without -n there is no number.
struct Match {
  std::string_view file;
  std::string_view number;
  std::string_view text;
  char mark = ':';
};

bool is_search(const CommandWords& command) {
  return command.starts_with({"grep"}) || command.starts_with({"rg"}) ||
         command.starts_with({"git", "grep"}) || command.starts_with({"egrep"}) ||
         command.starts_with({"ag"});
}

std::optional<Match> parse_match(std::string_view line) {
  (void)take_prefix(line, "./");  // the same path without it
  for (auto at = line.find(':'); at != std::string_view::npos; at = line.find(':', at + 1)) {
    Match match{line.substr(0, at), "", line.substr(at + 1)};
    if (at == 0 || contains(match.file, " ")) return std::nullopt;
    auto rest = match.text;
    if (take_number(rest) && rest.starts_with(':')) {
      match.number = match.text.substr(0, match.text.size() - rest.size());
      match.text = rest.substr(1);
      return match;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

bool recognises(const ParserInput& input) {
  if (!is_search(input.command) || input.lines.size() < 4) return false;
  const auto matches =
      std::count_if(input.lines.begin(), input.lines.end(),
                    [](std::string_view line) { return parse_match(line).has_value(); });
  return static_cast<std::size_t>(matches) * 10 >= input.lines.size() * 9;
}

struct FileMatches {
  std::string_view file;
  std::vector<std::string> lines;
};

std::optional<Facts> parse(const ParserInput& input) {
  Facts facts;
  facts.is_data = true;
  facts.tool = input.command.words.front();
  std::vector<FileMatches> files;
  std::unordered_map<std::string_view, std::size_t> known;
  std::uint64_t matches = 0;
  for (const auto line : input.lines) {
    const auto match = parse_match(line);
    if (!match) {
      if (!is_blank(line)) facts.kept.emplace_back(line);
      continue;
    }
    ++matches;
    const auto [found, is_new] = known.emplace(match->file, files.size());
    if (is_new) files.push_back({match->file, {}});
    files[found->second].lines.push_back(fmt::format("{}:{}", match->number, match->text));
  }
  for (FileMatches& file : files) {
    if (file.lines.size() == 1) {
      facts.kept.push_back(fmt::format("{}:{}", file.file, file.lines.front()));
      continue;
    }
    facts.kept.emplace_back(file.file);
    for (const std::string& line : file.lines)
      facts.kept.push_back(" " + line);
  }
  facts.totals = {{"matches", matches}, {"files", files.size()}};
  return facts;
}

}  // namespace

Parser grep_parser() {
  return {"grep", recognises, parse};
}

}  // namespace nutshell::compaction
