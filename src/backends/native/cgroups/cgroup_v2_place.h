// Finds a v2 cgroup whose children can have controllers. A v2 cgroup that has processes cannot
// enable controllers for its children unless it is the root ("no internal processes"), so it is
// rarely the cgroup of this process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/native/cgroups/cgroup_mounts.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

// The leaf that this process moves into when its own cgroup is delegated to it.
inline constexpr const char* kSelfLeaf = "nutshell.self";

struct V2Place {
  UniqueFd directory;  // closed if no cgroup is writable
  std::string path;
  std::vector<std::string> controllers;  // those that children of `directory` have
  std::string why_not;                   // why children have no controllers; empty if they do
};

// Moves this process into kSelfLeaf if it is alone in a cgroup that is delegated to it.
V2Place find_v2_place(const CgroupLocation& own);

// Enables `controllers` for the children of a cgroup; returns those that are enabled afterwards.
std::vector<std::string> enable_controllers(int directory,
                                            const std::vector<std::string>& controllers);

// Opens a directory in which this user can make others.
Result<UniqueFd> open_writable_directory(const std::string& path);

}  // namespace nutshell::native
