// Workspaces that outlive their sandboxes: volumes of the engine, named by their user and labelled
// as ours. nutshell never removes them.
#pragma once

#include <string>

#include "backends/docker/engine/engine_client.h"

namespace nutshell::docker {

// The engine's name of the volume: the same for all processes of one user on one machine.
Result<std::string> workspace_volume_name(const std::string& name);

// Makes the volume if it is missing, and gives its top directory to the sandbox's user. `image` is
// any image of the engine (container/volume_container.h).
Result<> ensure_workspace_volume(EngineClient& engine, const std::string& name,
                                 const std::string& image);

}  // namespace nutshell::docker
