// Landlock: the kernel limits the paths to which a sandbox may write, independently of its mounts.
// So the limit holds even if a mount is writable by mistake.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell {

// All paths are absolute and not symbolic links. Everything else may only be read and executed.
struct PathRules {
  std::vector<std::string> writable;  // without making device nodes or using ioctl on them
  std::vector<std::string> devices;   // files below may be read, written and controlled by ioctl
  // Descriptors of directories that no path leads to, so that a rule on a path does not cover them.
  std::vector<int> hidden_writable = {};  // device nodes that mark removed files may be made
  std::vector<int> hidden_readable = {};
  // Descriptors of directories that are mounted later, with the same rights as `writable`.
  std::vector<int> mounted_later = {};
};

// Returns the version of Landlock that this kernel supports; 0 if it has none.
int landlock_abi();

// Makes a ruleset for restrict_by(). A rule holds for the directory that is at its path now, not
// for what is mounted there later.
Result<UniqueFd> make_path_rules(const PathRules& rules);

// Restricts the calling thread and its children for good, as far as this kernel's version allows.
// Version 6 and later also refuse signals and abstract sockets to processes outside. Unsupported if
// there is no Landlock. The caller must have called set_no_new_privileges().
Result<> restrict_paths(const PathRules& rules);
Result<> restrict_by(const UniqueFd& rules);

}  // namespace nutshell
