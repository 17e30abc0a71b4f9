// Clones a process that has one thread, as fork(2) does, into new namespaces and a cgroup.
#pragma once

#include <cstdint>

#include "base/child_process.h"
#include "base/result.h"

namespace nutshell::native {

// Returns twice; in the child the pid is 0. The child stays in this process's cgroup if
// `cgroup_directory` is -1.
Result<ChildProcess> clone_process(std::uint64_t flags, int cgroup_directory);

// The same, but the child has no descriptors from kFirstKept on. With many sandboxes alive,
// clone_process() would copy thousands of descriptors, and the child would have to close them. So
// the child first shares this process's table and then makes its own copy of the low numbers. This
// process waits meanwhile, because it may close descriptors that the child needs. Does the same as
// clone_process() if no low number is free.
Result<ChildProcess> clone_with_low_descriptors(std::uint64_t flags, int cgroup_directory);

}  // namespace nutshell::native
