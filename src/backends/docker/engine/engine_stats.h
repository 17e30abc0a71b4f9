// Reads an engine's "stats" of a container.
#pragma once

#include "backends/docker/engine/engine_facts.h"
#include "backends/docker/engine/engine_json.h"
#include "core/sandbox_stats.h"

namespace nutshell::docker {

// Leaves out what the engine has no controller for: without root it may have no cgroup to put a
// container in, and then reports the counts of the cgroup it runs in itself.
SandboxStats read_stats(const Json& stats, const EngineFacts& facts);

}  // namespace nutshell::docker
