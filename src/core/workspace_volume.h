// A workspace that outlives its sandboxes: a volume of the backend's. Its name stands, as
// "volume:NAME", where else a directory of the host does.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/sandbox_spec.h"

namespace nutshell {

// Empty: the workspace is no volume.
std::string volume_of(const SandboxSpec& spec);
bool is_volume(std::string_view workspace);
// Refuses what cannot be the name of one.
Result<> check_volume(const SandboxSpec& spec);

}  // namespace nutshell
