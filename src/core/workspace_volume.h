// A workspace that outlives its sandboxes: a volume of the backend. A spec names it as
// "volume:NAME" instead of a directory of the host.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/sandbox_spec.h"

namespace nutshell {

// Returns the volume's name; empty if the workspace is not a volume.
std::string volume_of(const SandboxSpec& spec);
bool is_volume(std::string_view workspace);
// Refuses texts that cannot be the name of a volume.
Result<> check_volume(const SandboxSpec& spec);

}  // namespace nutshell
