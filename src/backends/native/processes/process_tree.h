// Adds up the CPU time of a process and its descendants from /proc, for a sandbox without a cgroup
// that counts it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

namespace nutshell::native {

// User and system time of the process, of every process below it, and of those that have ended and
// were waited for. Time of a process whose parent ignores SIGCHLD is lost when it ends. nullopt:
// there is no such process.
std::optional<std::chrono::microseconds> cpu_time_of_tree(pid_t root);

}  // namespace nutshell::native
