// Removes cgroups whose owner died without removing them.
#pragma once

#include <string>
#include <vector>

#include "backends/native/cgroups/cgroup_host.h"
#include "core/backend.h"

namespace nutshell::native {

// Leaves a group alone if its owner is alive or in another pid namespace, or if its name is not one
// of ours. A group that cannot be removed is reported, and the sweep goes on.
SweepReport sweep_cgroups(const CgroupHost& host, SweepMode mode);

}  // namespace nutshell::native
