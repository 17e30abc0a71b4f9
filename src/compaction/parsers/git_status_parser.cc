#include "compaction/parsers/git_status_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "compaction/parsers/path_groups.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool recognises_git_status(const ParserInput& input) {
  if (input.lines.empty()) return false;
  const auto first = input.lines.front();
  return first.starts_with("On branch ") || first.starts_with("HEAD detached ") ||
         first.starts_with("Not currently on any branch");
}

struct Section {
  std::string_view heading;
  std::string_view word;
};
constexpr std::array<Section, 5> kSections = {{{"Changes to be committed:", "staged"},
                                               {"Changes not staged for commit:", ""},
                                               {"Untracked files:", "untracked"},
                                               {"Ignored files:", "ignored"},
                                               {"Unmerged paths:", "unmerged"}}};

// A state and the paths in it: "staged new file", "modified".
struct Class {
  std::string name;
  std::vector<std::string_view> paths;
};

class StatusReader {
 public:
  std::optional<Facts> read(Lines lines) {
    for (const auto line : lines)
      read_line(line);
    for (const Class& one : classes_)
      append_class(one);
    facts_.is_data = true;
    facts_.tool = "git status";
    facts_.omitted = {{"hints", advice_}};
    return std::move(facts_);
  }

 private:
  void read_line(std::string_view line) {
    for (const Section& section : kSections) {
      if (line != section.heading) continue;
      section_ = &section;
      return;
    }
    if (is_blank(line)) return;
    const bool is_advice = trim_left(line).starts_with("(use ") ||
                           trim_left(line).starts_with("(commit or discard") ||
                           line.starts_with("no changes added to commit") ||
                           line.starts_with("nothing added to commit");
    if (is_advice) {
      ++advice_;
    } else if (line.starts_with('\t') && section_ != nullptr) {
      add_path(line.substr(1));
    } else {
      add_plain(line);
    }
  }

  // "main, ahead of origin/main by 2" for git's two lines; anything else stays as it is.
  void add_plain(std::string_view line) {
    if (take_prefix(line, "On branch ")) {
      facts_.kept.emplace_back(line);
      return;
    }
    auto rest = line;
    const bool is_relation = take_prefix(rest, "Your branch is ") && facts_.kept.size() == 1 &&
                             (rest.starts_with("ahead of ") || rest.starts_with("up to date"));
    if (!is_relation) {
      facts_.kept.emplace_back(line);
      return;
    }
    std::string relation(rest.substr(0, rest.find(" commit")));
    std::erase_if(relation, [](char c) { return c == '\''; });
    if (relation.ends_with('.')) relation.pop_back();
    facts_.kept.front() += ", " + relation;
  }

  // "modified:   src/a.c" or, in a class of its own, a bare path
  void add_path(std::string_view entry) {
    std::string name(section_->word);
    const auto colon = entry.find(":   ");
    if (colon != std::string_view::npos) {
      name += fmt::format("{}{}", name.empty() ? "" : " ", entry.substr(0, colon));
      entry = trim_left(entry.substr(colon + 1));
    }
    const auto [found, is_new] = known_.emplace(name, classes_.size());
    if (is_new) classes_.push_back({name, {}});
    classes_[found->second].paths.push_back(entry);
  }

  // Adds a class: on one line if it is one group, otherwise below its name.
  void append_class(const Class& one) {
    auto groups = group_paths(one.paths);
    if (groups.size() == 1) {
      facts_.kept.push_back(fmt::format("{}: {}", one.name, groups.front()));
      return;
    }
    facts_.kept.push_back(one.name + ":");
    std::move(groups.begin(), groups.end(), std::back_inserter(facts_.kept));
  }

  Facts facts_;
  const Section* section_ = nullptr;
  std::map<std::string, std::size_t> known_;
  std::vector<Class> classes_;
  std::uint64_t advice_ = 0;
};

std::optional<Facts> parse_git_status(const ParserInput& input) {
  return StatusReader().read(input.lines);
}

}  // namespace

Parser git_status_parser() {
  return {"git status", recognises_git_status, parse_git_status};
}

}  // namespace nutshell::compaction
