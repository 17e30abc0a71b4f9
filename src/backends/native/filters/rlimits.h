// Resource limits of every process in a sandbox.
#pragma once

#include "backends/native/namespaces/privilege.h"
#include "base/result.h"
#include "core/limits.h"

namespace nutshell::native {

// Whether the memory limit has a cgroup behind it, or per-process walls have to do.
enum class MemoryWall { Cgroup, PerProcess };

Result<> apply_rlimits(const Limits& limits, MemoryWall wall, Privilege privilege);
// Counted per user namespace: set after entering the sandbox's own.
Result<> limit_processes(const Limits& limits);
// How many files a process of the sandbox may have open. A plain user's sandbox gets 512 in place
// of any number from 513 up to the default of 1024. The kernel refuses to send a descriptor through
// a socket once the user has more of them in flight than the sender may have open files, and most
// programs may have 1024: with 512 the sandboxes cannot take all of these from the user's other
// programs. A larger number is granted, and `user_counts` then says what it means.
std::uint64_t allowed_open_files(const Limits& limits, Privilege privilege);
// Set last, when the many descriptors of whoever started the sandbox are closed.
Result<> limit_open_files(const Limits& limits, Privilege privilege);
// Whether this process may set them: raising a hard limit needs a privilege.
Result<> check_rlimits(const Limits& limits);

}  // namespace nutshell::native
