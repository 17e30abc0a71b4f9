#include "runtime/held_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/workspace_changes.h"

namespace nutshell {
namespace {

using wire::FileChange;
using wire::FileKind;

struct Item {
  FileChange change;
  TrustVerdict verdict;
  bool is_selected = false;
  bool is_held = false;

  [[nodiscard]] bool is_taken() const { return is_selected && !is_held; }
};

// The state of one git directory with all its files.
struct GitGroup {
  bool is_held_whole = false;
  bool lacks_objects = false;
  bool lacks_references = false;
  bool lacks_configuration = false;
  bool needs_configuration = false;
};

bool makes_directory(const FileChange& change) {
  return change.after.kind == FileKind::Directory && change.before.kind != FileKind::Directory;
}

bool ends_directory(const FileChange& change) {
  return change.before.kind == FileKind::Directory && change.after.kind != FileKind::Directory;
}

bool is_git(const Item& item) {
  return item.verdict.trust == HostTrust::GitData || item.verdict.trust == HostTrust::GitRuns;
}

bool is_like_reference(const Item& item) {
  const GitPart part = item.verdict.part;
  return part == GitPart::Reference || part == GitPart::Index || part == GitPart::Record;
}

std::string_view last_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// SHA-256 names and reftables: git expects them only if the configuration says so.
bool needs_configuration(const Item& item) {
  const std::string_view path = item.change.path;
  if (path.find("/reftable/") != std::string_view::npos) return true;
  if (item.verdict.part != GitPart::Object) return false;
  const std::string_view name = last_of(path);
  const std::string_view stem = name.substr(0, name.find('.'));
  return name.size() == 62 || stem.size() == std::string_view("pack-").size() + 64;
}

class Sorting {
 public:
  Sorting(const std::vector<FileChange>& changes, const HoldOptions& options) : options_(options) {
    for (const FileChange& change : changes)
      items_.push_back({change, {}, is_selected(change.path), false});
    std::sort(items_.begin(), items_.end(),
              [](const Item& a, const Item& b) { return a.change.path < b.change.path; });
    for (std::size_t i = 0; i < items_.size(); ++i)
      places_.emplace(items_[i].change.path, i);
  }

  Result<> judge_all(TrustJudge& judge) {
    for (Item& item : items_) {
      item.verdict = TRY(judge.judge(item.change));
      item.is_held = is_held_alone(item);
    }
    return {};
  }
  void hold_git_groups();
  void take_parents();
  void keep_filled_directories();
  SortedChanges finish() {
    SortedChanges sorted;
    for (Item& item : items_) {
      if (!item.is_selected) continue;
      auto& list = item.is_held ? sorted.held : sorted.wanted;
      list.push_back({std::move(item.change), std::move(item.verdict)});
    }
    return sorted;
  }

 private:
  [[nodiscard]] bool is_selected(const std::string& path) const {
    return options_.named.empty() ||
           std::any_of(options_.named.begin(), options_.named.end(),
                       [&](const std::string& named) { return is_at_or_below(path, named); });
  }
  [[nodiscard]] bool is_held_alone(const Item& item) const {
    if (item.verdict.trust == HostTrust::GitRuns) return options_.git == UnsafeGit::HeldBack;
    if (item.verdict.trust != HostTrust::Trusted) return false;
    if (!options_.named_root.empty() && item.verdict.root == options_.named_root) return false;
    return std::none_of(options_.named.begin(), options_.named.end(), [&](const auto& named) {
      return is_at_or_below(named, item.verdict.root) && is_at_or_below(item.change.path, named);
    });
  }
  void hold(Item& item, std::string_view why) const {
    if (item.is_held) return;
    item.is_held = true;
    item.verdict.tool = "git";
    item.verdict.why = why;
    item.verdict.trust = HostTrust::GitRuns;
  }
  [[nodiscard]] std::map<std::string, GitGroup> gather_groups() const;
  void hold_in_group(Item& item, const GitGroup& group) const;
  Item* parent_of(const Item& item);

  const HoldOptions& options_;
  std::vector<Item> items_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

std::map<std::string, GitGroup> Sorting::gather_groups() const {
  std::map<std::string, GitGroup> groups;
  for (const Item& item : items_) {
    if (!is_git(item)) continue;
    GitGroup& group = groups[item.verdict.root];
    group.needs_configuration = group.needs_configuration || needs_configuration(item);
    if (item.is_taken()) continue;
    const bool is_there = item.change.after.kind != kNoFile;
    if (item.is_held && item.change.path == item.verdict.root) group.is_held_whole = true;
    if (item.verdict.part == GitPart::Object && is_there) group.lacks_objects = true;
    if (is_like_reference(item)) group.lacks_references = true;
    if (last_of(item.change.path) == "config") group.lacks_configuration = true;
  }
  return groups;
}

void Sorting::hold_in_group(Item& item, const GitGroup& group) const {
  if (group.is_held_whole) hold(item, "belongs to a git directory that is held back");
  if (group.needs_configuration && group.lacks_configuration)
    hold(item, "cannot be read by git without the configuration, which is held back");
  if (group.lacks_objects && is_like_reference(item))
    hold(item, "could need objects that are not taken over");
  const bool is_removed_object =
      item.verdict.part == GitPart::Object && item.change.after.kind == kNoFile;
  if (group.lacks_references && is_removed_object)
    hold(item, "could be needed by references that are not taken over");
}

void Sorting::hold_git_groups() {
  if (options_.git == UnsafeGit::Taken) return;
  // Two rounds: a reference that the first round holds back keeps objects in the second.
  for (int round = 0; round < 2; ++round) {
    const auto groups = gather_groups();
    for (Item& item : items_) {
      if (is_git(item)) hold_in_group(item, groups.at(item.verdict.root));
    }
  }
}

Item* Sorting::parent_of(const Item& item) {
  const std::size_t slash = item.change.path.rfind('/');
  if (slash == std::string::npos) return nullptr;
  const auto found = places_.find(std::string_view(item.change.path).substr(0, slash));
  return found == places_.end() ? nullptr : &items_[found->second];
}

// Takes the new directories above each taken file. If a parent in a git directory is held back, the
// file is held back too.
void Sorting::take_parents() {
  for (Item& item : items_) {  // parents first
    Item* parent = parent_of(item);
    if (!item.is_taken() || parent == nullptr || !makes_directory(parent->change)) continue;
    if (parent->is_held && parent->verdict.trust == HostTrust::GitRuns) {
      item.is_held = true;
      item.verdict = parent->verdict;
    }
  }
  for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
    Item* parent = parent_of(*item);
    if (!item->is_taken() || parent == nullptr || !makes_directory(parent->change)) continue;
    parent->is_selected = true;
    parent->is_held = false;
  }
}

// Keeps a directory as long as something in it is held back.
void Sorting::keep_filled_directories() {
  for (auto item = items_.rbegin(); item != items_.rend(); ++item) {  // children first
    Item* parent = parent_of(*item);
    const bool stays = item->is_held && item->change.before.kind != kNoFile;
    if (!stays || parent == nullptr || parent->is_held || !ends_directory(parent->change)) continue;
    parent->is_held = true;
    parent->verdict = item->verdict;
    parent->verdict.why =
        fmt::format("{}, for {} in it", item->verdict.why, last_of(item->change.path));
  }
}

}  // namespace

Result<SortedChanges> sort_out_changes(const std::vector<FileChange>& changes, TrustJudge& judge,
                                       const HoldOptions& options) {
  Sorting sorting(changes, options);
  TRY(sorting.judge_all(judge));
  sorting.hold_git_groups();
  sorting.take_parents();
  sorting.keep_filled_directories();
  return sorting.finish();
}

Result<SortedChanges> judge_workspace(wire::InitClient& client,
                                      const std::vector<FileChange>& changes) {
  TrustJudge judge(sandbox_sources(client));
  return sort_out_changes(changes, judge, {});
}

std::string_view held_by(const TrustVerdict& verdict) {
  if (verdict.trust == HostTrust::GitRuns) return "git";
  return verdict.trust == HostTrust::Trusted ? "trusted" : "";
}

std::string sentence_of(const TrustVerdict& verdict) {
  if (verdict.trust == HostTrust::GitRuns) return "it " + verdict.why;
  return fmt::format("{} {}", verdict.tool, verdict.why);
}

std::vector<HeldSummary> summarise(const std::vector<JudgedChange>& held) {
  std::vector<HeldSummary> lines;
  std::map<std::string, std::size_t> directories;  // directory → its line in the summary
  for (const JudgedChange& one : held) {           // parents first
    const std::string& path = one.change.path;
    const std::size_t slash = path.rfind('/');
    const auto above =
        slash == std::string::npos ? directories.end() : directories.find(path.substr(0, slash));
    const bool is_directory =
        one.change.after.kind == FileKind::Directory ||
        (one.change.after.kind == kNoFile && one.change.before.kind == FileKind::Directory);
    const std::size_t line = above == directories.end() ? lines.size() : above->second;
    if (is_directory) directories.emplace(path, line);
    if (above != directories.end()) {
      ++lines[line].below;
    } else {
      lines.push_back({path + (is_directory ? "/" : ""), 0, &one.verdict});
    }
  }
  return lines;
}

}  // namespace nutshell
