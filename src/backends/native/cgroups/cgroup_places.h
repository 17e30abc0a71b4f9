// Records where this user's programs make cgroups. Each program makes them below its own cgroup,
// which may belong to another terminal, scope or login than that of 'nutshell gc'. So each program
// records its places before it makes the first group, and a sweep visits all recorded places.
#pragma once

#include "backends/native/cgroups/cgroup_host.h"
#include "backends/native/files/runtime_directory.h"
#include "base/result.h"
#include "core/backend.h"

namespace nutshell::native {

// Writes one symbolic link in `directory` for this set of places, unless it is there already.
Result<> record_cgroup_places(const RuntimeDirectory& directory, const CgroupHost& host);

// Sweeps `own` places and every recorded one, and forgets places that no longer exist.
SweepReport sweep_all_cgroups(const RuntimeDirectory& directory, const CgroupHost& own,
                              SweepMode mode);

}  // namespace nutshell::native
