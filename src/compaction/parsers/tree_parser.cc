#include "compaction/parsers/tree_parser.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "compaction/parsers/path_groups.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::array<std::string_view, 8> kBranches = {"├── ", "└── ", "│   ", "│\xc2\xa0\xc2\xa0 ",
                                                       "|-- ", "`-- ", "|   ", "    "};
// npm's are half as wide, and an entry with others below it has a mark of its own.
constexpr std::array<std::string_view, 6> kNarrow = {"├─┬ ", "└─┬ ", "├── ", "└── ", "│ ", "  "};

using Branches = std::span<const std::string_view>;

// Returns how deep an entry is, and moves `line` to its name.
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
  const std::size_t most_others = input.lines.size() * 4 / 10;
  std::size_t others = 0;
  for (const auto line : input.lines) {
    others += is_drawn(line) ? 0 : 1;
    if (others > most_others) return false;
  }
  return input.lines.size() - others > 3;
}

// "3 directories, 9 files"
bool is_sum(std::string_view line) {
  auto text = line;
  return take_number(text) && (text.starts_with(" director") || text.starts_with(" file"));
}

// Rebuilds the paths of the entries without others below them; nullopt if an entry has more than
// its name, such as a size or the target of a link.
std::optional<std::vector<std::string>> leaf_paths(const ParserInput& input) {
  std::vector<std::string> paths;
  std::vector<std::string_view> parents;
  std::size_t depth_before = 0;
  std::size_t bytes = 0;
  for (auto line : input.lines) {
    if (is_blank(line) || is_sum(line)) continue;
    const std::size_t depth = take_branches(line, kBranches);
    if (line.empty() || line.find_first_of(" \t[") != std::string_view::npos) return std::nullopt;
    if (depth > parents.size()) return std::nullopt;
    const bool is_below = depth > depth_before && !paths.empty();
    if (is_below) paths.pop_back();  // the entry above is a directory
    parents.resize(depth);
    parents.push_back(line.ends_with('/') ? line.substr(0, line.size() - 1) : line);
    std::string path;
    for (const auto part : parents) {
      if (part == ".") continue;
      path.append(path.empty() ? "" : "/").append(part);
    }
    constexpr std::size_t kMostBytes = 16U << 20U;  // of all paths: deep trees repeat their parents
    bytes += path.size();
    if (bytes > kMostBytes) return std::nullopt;
    paths.push_back(path.empty() ? "." : path);
    depth_before = depth;
  }
  return paths;
}

std::optional<Facts> parse_tree(const ParserInput& input) {
  Facts facts;
  facts.is_data = true;
  facts.tool = "tree";
  const auto paths = input.command.starts_with({"tree"}) ? leaf_paths(input) : std::nullopt;
  if (paths) {
    const std::vector<std::string_view> views(paths->begin(), paths->end());
    facts.kept = group_paths(views);
    for (const auto line : input.lines) {
      if (is_sum(line)) facts.kept.emplace_back(line);
    }
    return facts;
  }
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
