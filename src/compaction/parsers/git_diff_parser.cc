#include "compaction/parsers/git_diff_parser.h"

#include "compaction/parsers/git_patch.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool recognises_git_diff(const ParserInput& input) {
  return !input.lines.empty() && (input.lines.front().starts_with("diff --git ") ||
                                  (input.lines.size() > 2 && input.lines[0].starts_with("--- ") &&
                                   input.lines[1].starts_with("+++ ")));
}

std::optional<Facts> parse_git_diff(const ParserInput& input) {
  std::size_t at = 0;
  auto patch = read_patch(input.lines, at);
  if (!patch) return std::nullopt;
  Facts facts;
  facts.is_data = true;
  facts.tool = "diff";
  facts.totals = {{"files", patch->files}, {"added", patch->added}, {"removed", patch->removed}};
  facts.sections = std::move(patch->sections);
  facts.omitted = {{"context lines", patch->left_out}};
  for (; at < input.lines.size(); ++at)
    facts.kept.emplace_back(input.lines[at]);
  return facts;
}

}  // namespace

Parser git_diff_parser() {
  return {"git diff", recognises_git_diff, parse_git_diff};
}

}  // namespace nutshell::compaction
