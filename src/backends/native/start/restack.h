// Changes the layers of a running sandbox. Init may not mount, so a child of the process that keeps
// the sandbox joins its mount namespace and mounts them.
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
  int base = -1;     // detached mount of the user's directory; -1 for none
  int control = -1;  // init's control socket, over which the new rules are sent
  std::vector<std::string> layers;
  std::vector<std::string> unsafe_writable;
  MemoryLimiter memory_limiter = MemoryLimiter::Cgroup;
  bool has_rules = false;  // init restricts itself by the Landlock rules that it receives
};

// Starts the child. When it has answered, /workspace is the new stack, and the rules that cover it
// have been sent to init. Init must offer the top layer (core/layer_names.h); otherwise the answer
// is Cancelled. After an error the new stack may be mounted or not: init finds out.
Result<SideProcess> begin_restack(const RestackPlan& plan);

}  // namespace nutshell::native
