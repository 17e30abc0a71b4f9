#include "runtime/ignored_changes.h"

#include "base/file.h"
#include "runtime/git_index.h"
#include "runtime/git_repository.h"

namespace nutshell {
namespace {

namespace fs = std::filesystem;
using wire::FileChange;
using wire::FileKind;

constexpr std::size_t kMostRuleBytes = 1U << 20U;
constexpr std::size_t kMostIndexBytes = 64U << 20U;

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string below(const std::string& directory, std::string_view name) {
  return (directory.empty() ? "" : directory + "/") + std::string(name);
}

bool was_or_is_directory(const FileChange& change) {
  return change.before.kind == FileKind::Directory || change.after.kind == FileKind::Directory;
}

}  // namespace

Result<IgnoredChanges> IgnoredChanges::read(Sources sources, const fs::path& directory) {
  IgnoredChanges ignored(std::move(sources));
  for (std::string& path : ignored.sources_.tracked)
    ignored.tracked_.insert(std::move(path));
  if (TRY(ignored.is_repository(""))) return ignored;
  std::error_code error;
  std::vector<Above> above;
  std::string prefix = directory.filename().native() + "/";
  for (fs::path upper = directory.parent_path();; upper = upper.parent_path()) {
    if (auto text = read_file((upper / ".gitignore").native(), kMostRuleBytes))
      above.push_back({prefix, Rules::parse(*text)});
    if (fs::exists(fs::symlink_status(upper / ".git", error))) {
      ignored.above_ = std::move(above);
      if (const auto index = read_file(index_of(upper), kMostIndexBytes))
        ignored.track_below(prefix, *index);
      return ignored;
    }
    if (upper == upper.parent_path()) return ignored;  // no directory above is a repository
    prefix.insert(0, upper.filename().native() + "/");
  }
}

Result<const IgnoredChanges::Rules*> IgnoredChanges::rules_of(const std::string& file) {
  const auto known = rules_.find(file);
  if (known != rules_.end()) return &known->second;
  const auto text = TRY(sources_.text_of(file));
  const bool is_readable = text && text->size() <= kMostRuleBytes;
  return &(rules_[file] = is_readable ? Rules::parse(*text) : Rules());
}

Result<bool> IgnoredChanges::is_repository(const std::string& directory) {
  const auto known = repositories_.find(directory);
  if (known != repositories_.end()) return known->second;
  const bool is_one = TRY(sources_.exists(below(directory, ".git")));
  repositories_[directory] = is_one;
  if (is_one) TRY(track(directory));
  return is_one;
}

// Adds the paths of a repository's index. A damaged one names none.
Result<> IgnoredChanges::track(const std::string& repository) {
  const auto index = TRY(sources_.text_of(below(repository, ".git/index")));
  if (!index) return {};
  for (const std::string& path : paths_in_index(*index))
    tracked_.insert(below(repository, path));
  return {};
}

void IgnoredChanges::track_below(const std::string& prefix, std::string_view index) {
  for (const std::string& path : paths_in_index(index))
    if (path.starts_with(prefix)) tracked_.insert(path.substr(prefix.size()));
}

// A directory is tracked if something in it is.
bool IgnoredChanges::is_tracked(const std::string& path) const {
  if (tracked_.contains(path)) return true;
  const auto next = tracked_.lower_bound(path + "/");
  return next != tracked_.end() && next->starts_with(path + "/");
}

// The rules of the nearest directory decide. Those above a repository do not apply in it.
Result<IgnoredChanges::Rules::Verdict> IgnoredChanges::judge(const std::string& path,
                                                             EntryKind kind) {
  using Verdict = Rules::Verdict;
  std::string directory = path;
  do {
    directory = parent_of(directory);
    const std::string_view relative =
        std::string_view(path).substr(directory.empty() ? 0 : directory.size() + 1);
    const bool is_top = TRY(is_repository(directory));
    for (const char* file : {".gitignore", ".git/info/exclude"}) {
      if (!is_top && file != std::string_view(".gitignore")) continue;
      const Rules* rules = TRY(rules_of(below(directory, file)));
      const Verdict verdict = rules->judge(relative, name_of(path), kind);
      if (verdict != Verdict::None) return verdict;
    }
    if (is_top) return Verdict::None;
  } while (!directory.empty());
  for (const Above& above : above_) {
    const Verdict verdict = above.rules.judge(above.prefix + path, name_of(path), kind);
    if (verdict != Verdict::None) return verdict;
  }
  return Verdict::None;
}

Result<bool> IgnoredChanges::is_ignored(const std::string& path, EntryKind kind) {
  return TRY(judge(path, kind)) == Rules::Verdict::Ignored;
}

Result<std::string> IgnoredChanges::ignored_by(const FileChange& change) {
  const std::string& path = change.path;
  if (is_tracked(path)) return std::string();
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string directory = path.substr(0, slash);
    auto known = directories_.find(directory);
    if (known == directories_.end()) {
      const bool is_it = TRY(is_ignored(directory, EntryKind::Directory));
      known = directories_.emplace(directory, is_it).first;
    }
    if (known->second) return directory + "/";
  }
  if (was_or_is_directory(change) && TRY(is_ignored(path, EntryKind::Directory))) return path + "/";
  if (TRY(is_ignored(path, EntryKind::Other))) return path;
  return std::string();
}

}  // namespace nutshell
