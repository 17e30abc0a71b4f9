// Writes limits to a directory of a cgroup, v1 or v2.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/native/cgroups/cgroup_directory.h"
#include "base/result.h"

namespace nutshell::native {

// Limits memory and forbids swap. `present` is the limit in force, nullopt if there is none.
Result<> write_memory_limit(const CgroupDirectory& directory, std::optional<std::uint64_t> present,
                            std::uint64_t bytes);
Result<> write_process_limit(const CgroupDirectory& directory, std::uint64_t processes);
Result<> write_cpu_limit(const CgroupDirectory& directory, std::uint32_t millicpus);
Result<> lift_cpu_limit(const CgroupDirectory& directory);

}  // namespace nutshell::native
