// Adds up the CPU time of a process and its descendants from /proc, for a sandbox without a cgroup
// that counts it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

namespace nutshell::native {

// Returns the user and system time of the process, of all its descendants, and of those that have
// ended and were waited for; nullopt if there is no such process. The time of a process whose
// parent ignores SIGCHLD is lost when it ends.
std::optional<std::chrono::microseconds> cpu_time_of_tree(pid_t root);

}  // namespace nutshell::native
