// Decides which entries of a tree are left out by .gitignore, .ignore, .rgignore and
// .git/info/exclude: like ripgrep, but with patterns as git reads them (a brace is a brace).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "init/search/glob.h"

namespace nutshell::init::search {

enum class EntryKind { Directory, Other };

// The rules of one file.
class IgnoreRules {
 public:
  enum class Verdict { None, Ignored, Kept };

  // Skips lines that cannot be parsed, as git does.
  static IgnoreRules parse(std::string_view text);

  [[nodiscard]] bool is_empty() const { return rules_.empty(); }
  // `path` is relative to the directory of the file; the last rule that matches decides.
  [[nodiscard]] Verdict judge(std::string_view path, std::string_view name, EntryKind kind) const;

 private:
  struct Rule {
    Glob glob;
    bool keeps = false;
    bool is_for_directories = false;
    bool is_of_name = false;
  };
  void add_line(std::string_view line);

  std::vector<Rule> rules_;
};

// The rules of one directory, and a link to those of the directories above it. Read-only once made,
// so threads may share it.
struct IgnoreLevel {
  // Shared, because several threads visit the directories below and end in any order.
  std::shared_ptr<const IgnoreLevel> above;
  std::string prefix;          // path from it to the root of the walk, if it is above the root
  std::size_t depth = 0;       // length of its path below the root
  bool is_repository = false;  // git's rules of the directories above do not apply here
  std::array<IgnoreRules, 4> rules;  // in the order of kIgnoreFiles
};

// In order of precedence, which counts more than nearness.
inline constexpr std::array<const char*, 4> kIgnoreFiles = {".rgignore", ".ignore", ".gitignore",
                                                            ".git/info/exclude"};

// Reads the rules of an open directory; returns `above` if it has none. `depth` is the length of
// its path below the root of the walk.
std::shared_ptr<const IgnoreLevel> read_ignore_level(int directory, std::size_t depth,
                                                     std::shared_ptr<const IgnoreLevel> above);

// Reads the rules of all directories above an open one. Null if its path is unknown.
std::shared_ptr<const IgnoreLevel> read_levels_above(int directory);

// `path` is relative to the root of the walk.
bool is_ignored(const IgnoreLevel* level, std::string_view path, std::string_view name,
                EntryKind kind);

}  // namespace nutshell::init::search
