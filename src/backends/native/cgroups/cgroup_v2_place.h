// Which v2 cgroup may have children with controllers. A v2 cgroup with processes in it cannot pass
// controllers on, unless it is the root ("no internal processes"), so our own is rarely the place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/native/cgroups/cgroup_mounts.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

// The leaf this process moves into when its own cgroup was delegated to it.
inline constexpr const char* kSelfLeaf = "nutshell.self";

struct V2Place {
  UniqueFd directory;  // closed if there is no place
  std::string path;
  std::vector<std::string> controllers;  // which children of `directory` have
  std::string why_not;                   // in words, what keeps controllers away
};

// May move this process into kSelfLeaf, if it is alone in a cgroup that was delegated to it.
V2Place find_v2_place(const CgroupLocation& own);

// Passes `controllers` on to the children of a cgroup, each if it can be; returns those that were.
std::vector<std::string> enable_controllers(int directory,
                                            const std::vector<std::string>& controllers);

// A directory in which this user can make others.
Result<UniqueFd> open_writable_directory(const std::string& path);

}  // namespace nutshell::native
