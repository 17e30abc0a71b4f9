// The /etc of a sandbox that runs the host's programs: written by us, with nothing of the host's
// users, names or secrets; only what programs in /usr need to find their parts is the host's.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace nutshell::images {

// Who gets what is written: a copy of many links pays only for many sandboxes.
enum class SharedBy { OneSandbox, ManySandboxes };

// Writes root's directory etc, which is empty. Returns the names in it that are to be mounted from
// the host, because what they hold may change without a trace.
Result<std::vector<std::string>> write_host_etc(int root, SharedBy sharers);

// Changes when what write_host_etc() takes over from the host does.
std::string host_etc_state();

}  // namespace nutshell::images
