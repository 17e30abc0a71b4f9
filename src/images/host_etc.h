// Writes the /etc of a sandbox that runs the host's programs. It has none of the host's users,
// names or secrets; only files that programs in /usr need to find their parts come from the host.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace nutshell::images {

// Whether one sandbox gets it or many: copying many links pays only for many sandboxes.
enum class SharedBy { OneSandbox, ManySandboxes };

// Fills root's empty directory etc. Returns the names in it that must be mounted from the host,
// because their content may change unnoticed.
Result<std::vector<std::string>> write_host_etc(int root, SharedBy sharers);

// Returns a text that changes when the host's files that write_host_etc() copies change.
std::string host_etc_state();

}  // namespace nutshell::images
