// fork(2) with namespaces, for a process with one thread.
#pragma once

#include <cstdint>

#include "base/child_process.h"
#include "base/result.h"

namespace nutshell::native {

// Like fork, with namespaces; the child runs on its copy of this stack. `cgroup_directory`: -1 for
// none.
Result<ChildProcess> clone_process(std::uint64_t flags, int cgroup_directory);

// The same, and the child has no descriptors from kFirstKept on. The table is shared until it has
// left it with the low ones: with many sandboxes alive a copy is thousands of descriptors, each of
// which would have to be closed. This process waits meanwhile, because what it closes next the
// child needs. If no low number is free, it is as clone_process().
Result<ChildProcess> clone_with_low_descriptors(std::uint64_t flags, int cgroup_directory);

}  // namespace nutshell::native
