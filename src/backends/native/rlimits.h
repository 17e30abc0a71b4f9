// Resource limits of every process in a sandbox.
#pragma once

#include "backends/native/privilege.h"
#include "base/result.h"
#include "core/limits.h"

namespace nutshell::native {

// Whether the memory limit has a cgroup behind it, or per-process walls have to do.
enum class MemoryWall { Cgroup, PerProcess };

Result<> apply_rlimits(const Limits& limits, MemoryWall wall, Privilege privilege);
// Counted per user namespace: set after entering the sandbox's own.
Result<> limit_processes(const Limits& limits);
// Set last, when the many descriptors of whoever started the sandbox are closed.
Result<> limit_open_files(const Limits& limits);
// Whether this process may set them: raising a hard limit needs a privilege.
Result<> check_rlimits(const Limits& limits);

}  // namespace nutshell::native
