// What an engine counts of a container, read from its "stats".
#pragma once

#include "backends/docker/engine_json.h"
#include "core/sandbox_stats.h"

namespace nutshell::docker {

SandboxStats read_stats(const Json& stats);

}  // namespace nutshell::docker
