// The default root of a sandbox, where it is to have this machine's programs: /usr and its like as
// they are, an /etc of our own, and empty directories.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "images/host_etc.h"

namespace nutshell::images {

// Fills an empty directory with it. Returns paths of the host that are to be mounted where they
// are, below it: "usr", "etc/ssl/certs".
Result<std::vector<std::string>> write_host_root(int root, SharedBy sharers);

// Changes when what write_host_root() writes does.
std::string host_root_state();

}  // namespace nutshell::images
