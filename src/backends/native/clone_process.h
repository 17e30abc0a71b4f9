// fork(2) with namespaces, for a process with one thread.
#pragma once

#include <cstdint>

#include "base/child_process.h"
#include "base/result.h"

namespace nutshell::native {

// The child runs on its copy of this stack, and has 0 for a pid. Into the v2 cgroup of that
// descriptor, unless it is -1.
Result<ChildProcess> clone_process(std::uint64_t flags, int cgroup_directory);

}  // namespace nutshell::native
