// Tells which changes of a workspace git would ignore: by the .gitignore files and
// .git/info/exclude as they are after the changes. What an index of git names is never ignored.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "init/search/ignore_rules.h"
#include "wire/tool_schema.h"

namespace nutshell {

class IgnoredChanges {
 public:
  // Paths are relative to the workspace.
  struct Sources {
    std::function<Result<bool>(const std::string& path)> exists;
    // The text of a file after the changes; nullopt if there is none.
    std::function<Result<std::optional<std::string>>(const std::string& path)> text_of;
    // Paths in the index before the changes.
    std::vector<std::string> tracked;
  };
  // `directory` is the workspace on the host. If it is a part of a repository, the rules of the
  // directories above it count too.
  static Result<IgnoredChanges> read(Sources sources, const std::filesystem::path& directory);

  // Returns the outermost directory, with a slash at its end, or the file that is ignored; empty if
  // the change is not ignored.
  Result<std::string> ignored_by(const wire::FileChange& change);

 private:
  using Rules = init::search::IgnoreRules;
  using EntryKind = init::search::EntryKind;
  struct Above {
    std::string prefix;  // the path from that directory to the workspace, with a slash at its end
    Rules rules;
  };

  explicit IgnoredChanges(Sources sources) : sources_(std::move(sources)) {}
  Result<const Rules*> rules_of(const std::string& file);
  Result<bool> is_repository(const std::string& directory);
  Result<> track(const std::string& repository);
  // Adds the paths of an index above the workspace that begin with `prefix`.
  void track_below(const std::string& prefix, std::string_view index);
  [[nodiscard]] bool is_tracked(const std::string& path) const;
  Result<bool> is_ignored(const std::string& path, EntryKind kind);
  Result<Rules::Verdict> judge(const std::string& path, EntryKind kind);

  Sources sources_;
  std::vector<Above> above_;  // the nearest first
  std::set<std::string, std::less<>> tracked_;
  std::map<std::string, Rules> rules_;        // by the file's path
  std::map<std::string, bool> repositories_;  // by the directory's path
  std::map<std::string, bool> directories_;   // whether a directory is ignored
};

}  // namespace nutshell
