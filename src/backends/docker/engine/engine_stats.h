// Reads an engine's "stats" of a container.
#pragma once

#include "backends/docker/engine/engine_facts.h"
#include "backends/docker/engine/engine_json.h"
#include "core/sandbox_stats.h"

namespace nutshell::docker {

// Leaves out counts that the engine has no controller for. A rootless engine may have no cgroup for
// its containers; it then reports the counts of the cgroup it runs in itself.
SandboxStats read_stats(const Json& stats, const EngineFacts& facts);

}  // namespace nutshell::docker
