// Sets the resource limits (setrlimit) of the processes in a sandbox.
#pragma once

#include "backends/native/namespaces/privilege.h"
#include "base/result.h"
#include "core/limits.h"

namespace nutshell::native {

// Whether a cgroup limits memory, or only RLIMIT_DATA of each process.
enum class MemoryLimiter { Cgroup, PerProcess };

Result<> apply_rlimits(const Limits& limits, MemoryLimiter limiter, Privilege privilege);
// Set after the sandbox's user namespace is entered, because the kernel counts by user namespace.
Result<> limit_processes(const Limits& limits);
// Returns how many files a process of the sandbox may have open. A plain user's sandbox gets 512 in
// place of any number from 513 up to the default of 1024. The kernel refuses to send a descriptor
// through a socket once the user has more descriptors in flight than the sender may have open
// files, which is 1024 for most programs. With 512 the sandboxes leave some to the user's other
// programs. A number above the default is granted, and the protection `user_counts` says what that
// means.
std::uint64_t allowed_open_files(const Limits& limits, Privilege privilege);
// Set last, after the descriptors that the process inherited are closed.
Result<> limit_open_files(const Limits& limits, Privilege privilege);
// Fails if this process may not set the limits: raising a hard limit needs a privilege.
Result<> check_rlimits(const Limits& limits);

}  // namespace nutshell::native
