// Where this user's programs have made cgroups. Each makes them below its own cgroup, which may be
// that of another terminal, scope or login than the one 'nutshell gc' is run in: so each writes
// down its places before it makes the first group, and a sweep looks there too.
#pragma once

#include "backends/native/cgroups/cgroup_host.h"
#include "backends/native/files/runtime_directory.h"
#include "base/result.h"
#include "core/backend.h"

namespace nutshell::native {

// One link in `directory`, made once for each set of places; later calls find it there.
Result<> record_cgroup_places(const RuntimeDirectory& directory, const CgroupHost& host);

// Sweeps `own` places and every recorded one, and forgets places that no longer exist.
SweepReport sweep_all_cgroups(const RuntimeDirectory& directory, const CgroupHost& own,
                              SweepMode mode);

}  // namespace nutshell::native
