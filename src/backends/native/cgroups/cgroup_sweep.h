// Removes the groups of owners that died without removing them.
#pragma once

#include <string>
#include <vector>

#include "backends/native/cgroups/cgroup_host.h"
#include "core/backend.h"

namespace nutshell::native {

// A group whose owner lives, whose owner's pid namespace is another, or whose name is not one of
// ours is never touched. One that cannot be removed does not keep others from being.
SweepReport sweep_cgroups(const CgroupHost& host, SweepMode mode);

}  // namespace nutshell::native
