// Which entries of a tree are left out, as .gitignore, .ignore, .rgignore and .git/info/exclude
// say: the same answer as ripgrep's, with the patterns read as git reads them (a brace is a brace).
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

  // Lines that cannot be understood are passed over, as git does.
  static IgnoreRules parse(std::string_view text);

  [[nodiscard]] bool is_empty() const { return rules_.empty(); }
  // `path` is relative to the directory of the file; the last rule that fits decides.
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

// The rules that begin to hold at one directory, and those of the directories above it. Read-only
// once made, so threads may share it.
struct IgnoreLevel {
  // Shared: the directories below are visited by several threads and end in any order.
  std::shared_ptr<const IgnoreLevel> above;
  std::string prefix;     // where it lies above the root of the walk: the way from it to the root
  std::size_t depth = 0;  // bytes of a path below the root that lead to it
  bool is_repository = false;        // git's rules from further up do not hold here
  std::array<IgnoreRules, 4> rules;  // in the order of kIgnoreFiles
};

// What decides earlier stands first, whatever is nearer.
inline constexpr std::array<const char*, 4> kIgnoreFiles = {".rgignore", ".ignore", ".gitignore",
                                                            ".git/info/exclude"};

// The rules of an open directory: nothing but `above` if it has none. `depth` is the length of its
// path below the root of the walk.
std::shared_ptr<const IgnoreLevel> read_ignore_level(int directory, std::size_t depth,
                                                     std::shared_ptr<const IgnoreLevel> above);

// Those of all directories above an open one. Empty if it cannot be told where it lies.
std::shared_ptr<const IgnoreLevel> read_levels_above(int directory);

// `path` is relative to the root of the walk.
bool is_ignored(const IgnoreLevel* level, std::string_view path, std::string_view name,
                EntryKind kind);

}  // namespace nutshell::init::search
