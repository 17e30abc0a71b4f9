// Landlock: which paths a sandbox may write, kept by the kernel beside the mounts. A second fence:
// it still holds where a mount was forgotten or made writable by mistake.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell {

// All paths are absolute and no symbolic links. Whatever they do not name is for reading and
// executing only.
struct PathRules {
  std::vector<std::string> writable;  // everything but device nodes: neither made nor controlled
  std::vector<std::string> devices;   // files below are read, written and controlled by ioctl
  // Directories that no path leads to, by descriptor: a rule on a path does not reach them.
  std::vector<int> hidden_writable = {};  // the nodes that mark a removed file included
  std::vector<int> hidden_readable = {};
  // Directories that are mounted later, by descriptor: writable then as those of `writable` are.
  std::vector<int> mounted_later = {};
};

// The version of Landlock that this kernel speaks, 0 where there is none.
int landlock_abi();

// The rules as they are now, for restrict_by(). A rule holds for the directory that is at its path
// at this moment, not for what is mounted there later.
Result<UniqueFd> make_path_rules(const PathRules& rules);

// Restricts the calling thread and all its children for good, as far as this kernel's version goes;
// with version 6 or later also signals and abstract sockets to processes outside. Unsupported where
// there is no Landlock. Wants set_no_new_privileges() first.
Result<> restrict_paths(const PathRules& rules);
Result<> restrict_by(const UniqueFd& rules);

}  // namespace nutshell
