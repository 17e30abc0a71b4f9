// Changes the layers of a sandbox that is running. Init has no right to mount: a child of whoever
// keeps the sandbox joins its mount namespace and does it.
#pragma once

#include <string>
#include <vector>

#include "backends/native/filters/rlimits.h"
#include "backends/native/processes/side_process.h"
#include "base/result.h"

namespace nutshell::native {

struct RestackPlan {
  int store = -1;
  int mount_namespace = -1;
  int base = -1;     // detached mount of the user's directory; -1: there is none
  int control = -1;  // init's control socket: the new rules go there
  std::vector<std::string> layers;
  std::vector<std::string> unsafe_writable;
  MemoryWall memory_wall = MemoryWall::Cgroup;
  bool has_rules = false;  // init restricts itself by Landlock rules it is given
};

// Begins it. When the process has answered, /workspace is the new stack, and rules that cover it
// are on their way to init. Init has to offer the top layer (core/layer_names.h); the answer is
// Cancelled where it does not. After an error the new stack may or may not be mounted: init finds
// out.
Result<SideProcess> begin_restack(const RestackPlan& plan);

}  // namespace nutshell::native
