// The default root of a sandbox, with this machine's programs: /usr and its like as they are, a new
// /etc, and empty directories.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "images/host_etc.h"

namespace nutshell::images {

// Fills an empty directory. Returns the paths of the host that must be mounted at the same path
// below it: "usr", "etc/ssl/certs".
Result<std::vector<std::string>> write_host_root(int root, SharedBy sharers);

// Returns a text that changes when the result of write_host_root() changes.
std::string host_root_state();

}  // namespace nutshell::images
