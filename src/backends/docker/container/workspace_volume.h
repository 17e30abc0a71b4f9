// Workspaces that outlive their sandboxes, as volumes of the engine: named by their user, marked as
// ours, and removed by nobody but whoever asks the engine for it.
#pragma once

#include <string>

#include "backends/docker/engine/engine_client.h"

namespace nutshell::docker {

// The engine's name of it; the same for every client of one user on one machine.
Result<std::string> workspace_volume_name(const std::string& name);

// Makes it where it is missing, and gives its top directory to the sandbox's user. `image` is any
// that the engine has: it takes a container, which is never started, to reach a volume.
Result<> ensure_workspace_volume(EngineClient& engine, const std::string& name,
                                 const std::string& image);

}  // namespace nutshell::docker
