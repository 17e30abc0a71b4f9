#include "compaction/parsers/git_oneline_parser.h"

#include <algorithm>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kLong = 150;  // commits; fewer are shown as they are

// A line of --oneline: "* | 4a5b6c7 (tag: v1.2) subject".
struct Commit {
  std::string_view text;  // from the hash on
  bool has_refs = false;
};

std::optional<Commit> commit_at(std::string_view line) {
  const auto graph = std::min(line.find_first_not_of("*|\\/_ .-"), line.size());
  Commit commit{line.substr(graph)};
  auto text = commit.text;
  const auto hash = take_word(text);
  const bool is_hash = hash.size() >= 7 && hash.size() <= 64 &&
                       hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!is_hash || text.empty()) return std::nullopt;
  commit.has_refs = text.starts_with('(') && contains(text, ")");
  return commit;
}

bool is_graph(std::string_view line) {
  return line.find_first_not_of("*|\\/_ .-") == std::string_view::npos;
}

bool recognises_git_oneline(const ParserInput& input) {
  if (!input.command.starts_with({"git"}) || input.lines.size() < kLong) return false;
  std::size_t commits = 0;
  for (const auto line : input.lines) {
    const bool is_commit = commit_at(line).has_value();
    commits += is_commit ? 1 : 0;
    if (!is_commit && !is_graph(line)) return false;
  }
  return commits >= kLong;
}

std::optional<Facts> parse_git_oneline(const ParserInput& input) {
  Facts facts;
  facts.is_data = true;
  facts.tool = "git log";
  std::uint64_t commits = 0;
  std::vector<std::string> all;
  for (const auto line : input.lines) {
    const auto commit = commit_at(line);
    commits += commit ? 1 : 0;
    if (commit && commit->has_refs) {
      if (facts.kept.empty()) facts.kept.emplace_back("with refs:");
      facts.kept.push_back(" " + std::string(commit->text));
    }
    all.emplace_back(line);
  }
  if (!facts.kept.empty()) facts.kept.emplace_back("all:");
  std::ranges::move(all, std::back_inserter(facts.kept));
  facts.totals = {{"commits", commits}};
  return facts;
}

}  // namespace

Parser git_oneline_parser() {
  return {"git oneline", recognises_git_oneline, parse_git_oneline};
}

}  // namespace nutshell::compaction
