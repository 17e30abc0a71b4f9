#include "compaction/parsers/grep_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "compaction/diagnostic_line.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// "src/a.c:12:text"; with context also "src/a.c-11-text". Without -n it is "src/a.c:text".
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
    return is_path(match.file) ? std::optional(match) : std::nullopt;
  }
  return std::nullopt;
}

// "src/a.c-11-text" of a file that is known: a name may have such numbers in it, too.
std::optional<Match> parse_context(std::string_view line, std::string_view file) {
  (void)take_prefix(line, "./");
  if (file.empty() || !take_prefix(line, file) || !take_prefix(line, "-")) return std::nullopt;
  auto rest = line;
  if (!take_number(rest) || !take_prefix(rest, "-")) return std::nullopt;
  const auto number = line.substr(0, line.size() - rest.size() - 1);
  return Match{file, number, rest, '-'};
}

bool is_separator(std::string_view line) {
  return line == "--";
}

// Reads lines in order. Context stands before the match that names its file, or behind it.
class MatchReader {
 public:
  explicit MatchReader(Lines lines) : lines_(lines) {}

  std::optional<Match> read(std::size_t at) {
    // Tries context first: its text may look like a match, but a match never looks like context.
    if (auto match = parse_context(lines_[at], before_)) return match;
    if (auto match = parse_match(lines_[at])) {
      before_ = match->file;
      return match;
    }
    return parse_context(lines_[at], file_after(at));
  }

 private:
  // The file of the next match; every line is looked at once for this.
  std::string_view file_after(std::size_t at) {
    for (next_ = std::max(next_, at); next_ < lines_.size(); ++next_) {
      if (const auto match = parse_match(lines_[next_])) return match->file;
    }
    return "";
  }

  Lines lines_;
  std::string_view before_;
  std::size_t next_ = 0;
};

bool recognises_grep(const ParserInput& input) {
  if (!is_search(input.command) || input.lines.size() < 4) return false;
  MatchReader reader(input.lines);
  std::size_t known = 0;
  std::size_t matches = 0;
  for (std::size_t at = 0; at < input.lines.size(); ++at) {
    const auto match = reader.read(at);
    known += match || is_separator(input.lines[at]) ? 1 : 0;
    matches += match && match->mark == ':' ? 1 : 0;
  }
  return matches > 0 && known * 10 >= input.lines.size() * 9;
}

// Adds a match to its file. The brief form is without context.
void add_line(Section& section, const Match& match) {
  const bool has_number = !match.number.empty();
  section.lines.push_back(has_number ? fmt::format(" {}{}{}", match.number, match.mark, match.text)
                                     : fmt::format(" {}", match.text));
  if (match.mark == ':') section.brief.push_back(section.lines.back());
}

// A file with one match is one line.
void join_single(Section& section) {
  if (section.lines.size() != 1) return;
  section.head += ":" + section.lines.front().substr(1);
  section.lines.clear();
  section.brief.clear();
}

std::optional<Facts> parse_grep(const ParserInput& input) {
  Facts facts;
  facts.is_data = true;
  facts.tool = input.command.words.front();
  std::unordered_map<std::string_view, std::size_t> known;
  MatchReader reader(input.lines);
  std::uint64_t matches = 0;
  for (std::size_t at = 0; at < input.lines.size(); ++at) {
    const auto line = input.lines[at];
    const auto match = reader.read(at);
    if (!match) {
      if (!is_blank(line) && !is_separator(line)) facts.kept.emplace_back(line);
      continue;
    }
    matches += match->mark == ':' ? 1 : 0;
    const auto [found, is_new] = known.emplace(match->file, facts.sections.size());
    if (is_new) facts.sections.push_back({std::string(match->file), {}, {}, at});
    add_line(facts.sections[found->second], *match);
  }
  std::for_each(facts.sections.begin(), facts.sections.end(), join_single);
  facts.totals = {{"matches", matches}, {"files", facts.sections.size()}};
  return facts;
}

}  // namespace

Parser grep_parser() {
  return {"grep", recognises_grep, parse_grep};
}

}  // namespace nutshell::compaction
