// Turns a freshly cloned process into a sandbox, in a fixed order of named steps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/native/privilege.h"
#include "backends/native/rlimits.h"
#include "base/result.h"
#include "core/limits.h"

namespace nutshell::native {

struct EnterPlan {
  Privilege privilege = Privilege::Rootless;
  HostIds ids;
  std::string image;
  Limits limits;
  std::span<const int> cgroup_joins;
  int network_namespace = -1;  // a pooled one; -1: one comes through network_source
  int network_source = -1;     // packet socket: the namespace is made while we mount
  int shared_root = -1;        // a mount namespace made by enter_shared_root; -1: make one
  MemoryWall memory_wall = MemoryWall::Cgroup;
  std::vector<int> cpus;             // pinned to these, where affinity is the CPU limit
  std::span<char> command_line;      // where ps would show the host's command line
  bool is_without_landlock = false;  // unsafe, asked for by name
};

// A user namespace that a plain user is root of: where everything else is made from.
Result<> enter_own_user_namespace(const HostIds& caller);

Result<> enter_sandbox(const EnterPlan& plan);

}  // namespace nutshell::native
