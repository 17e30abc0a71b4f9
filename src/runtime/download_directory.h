// The directory of kept downloads of package registries. Sandboxes of one tenant share one, and no
// sandbox sees it.
#pragma once

#include <string>

#include "core/sandbox_spec.h"

namespace nutshell {

// The label with the tenant of a daemon's sandbox.
inline constexpr const char* kTenantLabel = "nutshell.tenant";

// Empty if this user has no directory for what outlives a reboot.
std::string download_directory(const SandboxSpec& spec);

}  // namespace nutshell
