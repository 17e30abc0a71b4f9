#include "compaction/parsers/tree_parser.h"

#include <algorithm>
#include <array>
#include <span>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::array<std::string_view, 8> kBranches = {"├── ", "└── ", "│   ", "│\xc2\xa0\xc2\xa0 ",
                                                       "|-- ", "`-- ", "|   ", "    "};
// npm's are half as wide, and an entry with others below it has a mark of its own.
constexpr std::array<std::string_view, 6> kNarrow = {"├─┬ ", "└─┬ ", "├── ", "└── ", "│ ", "  "};

using Branches = std::span<const std::string_view>;

// How deep an entry is; `line` is moved to its name.
std::size_t take_branches(std::string_view& line, Branches branches) {
  std::size_t depth = 0;
  while (std::any_of(branches.begin(), branches.end(),
                     [&](std::string_view branch) { return take_prefix(line, branch); }))
    ++depth;
  return depth;
}

bool is_drawn(std::string_view line) {
  return contains(line, "── ") || contains(line, "─┬ ") || contains(line, "|-- ") ||
         contains(line, "`-- ");
}

bool recognises_tree(const ParserInput& input) {
  const auto drawn = std::count_if(input.lines.begin(), input.lines.end(), is_drawn);
  return drawn > 3 && static_cast<std::size_t>(drawn) * 10 >= input.lines.size() * 6;
}

std::optional<Facts> parse_tree(const ParserInput& input) {
  Facts facts;
  facts.is_data = true;
  facts.tool = "tree";
  const bool is_narrow = std::any_of(input.lines.begin(), input.lines.end(),
                                     [](auto line) { return contains(line, "─┬ "); });
  const Branches branches = is_narrow ? Branches(kNarrow) : Branches(kBranches);
  for (auto line : input.lines) {
    if (is_blank(line)) continue;
    const std::size_t depth = take_branches(line, branches);
    facts.kept.push_back(std::string(depth, ' ') + std::string(line));
  }
  return facts;
}

}  // namespace

Parser tree_parser() {
  return {"tree", recognises_tree, parse_tree};
}

}  // namespace nutshell::compaction
