#include "compaction/parsers/git_diff_parser.h"

#include <algorithm>

#include "compaction/parsers/git_patch.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// " src/a.cc | 12 +++--", " 3 files changed, 9 insertions(+)" and the lines of --summary, which
// --stat and --patch-with-stat print ahead of a patch.
bool is_stat(std::string_view line) {
  return is_blank(line) || line == "---" ||
         (line.starts_with(' ') &&
          (contains(line, " | ") || contains(line, " changed, ") || contains(line, " mode ") ||
           contains(line, " rename ") || contains(line, " copy ")));
}

std::size_t stat_lines(Lines lines) {
  std::size_t count = 0;
  while (count < lines.size() && is_stat(lines[count]))
    ++count;
  return count;
}

bool recognises_git_diff(const ParserInput& input) {
  const auto lines = input.lines.subspan(stat_lines(input.lines));
  return !lines.empty() &&
         (lines.front().starts_with("diff --git ") || is_gofmt_diff(lines.front()) ||
          (lines.size() > 2 && lines[0].starts_with("--- ") && lines[1].starts_with("+++ ")));
}

// Returns whether there are changes inside lines, as --word-diff marks them.
bool has_word_changes(const ParserInput& input) {
  return std::ranges::any_of(input.command.words,
                             [](const std::string& word) {
                               return word.starts_with("--word-diff") ||
                                      word.starts_with("--color-words");
                             }) ||
         std::ranges::any_of(input.lines, [](std::string_view line) {
           return !line.starts_with('+') && !line.starts_with('-') &&
                  (contains(line, "-]{+") || (contains(line, "[-") && contains(line, "-]")) ||
                   (contains(line, "{+") && contains(line, "+}")));
         });
}

std::optional<Facts> parse_git_diff(const ParserInput& input) {
  if (has_word_changes(input)) return std::nullopt;
  const std::size_t first = stat_lines(input.lines);
  std::size_t at = first;
  auto patch = read_patch(input.lines, at);
  if (!patch) return std::nullopt;
  Facts facts;
  facts.is_data = true;
  facts.tool = "diff";
  facts.totals = {{"files", patch->files}, {"added", patch->added}, {"removed", patch->removed}};
  facts.sections = std::move(patch->sections);
  facts.omitted = {{"context lines", patch->left_out}};
  for (const auto line : input.lines.first(first)) {
    if (!is_blank(line)) facts.kept.emplace_back(line);
  }
  for (; at < input.lines.size(); ++at)
    facts.kept.emplace_back(input.lines[at]);
  return facts;
}

}  // namespace

Parser git_diff_parser() {
  return {"git diff", recognises_git_diff, parse_git_diff};
}

}  // namespace nutshell::compaction
