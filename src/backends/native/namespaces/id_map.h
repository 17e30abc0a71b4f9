// Maps one user and one group into a user namespace.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace nutshell::native {

struct IdMap {
  uid_t inside_user = 0;
  uid_t outside_user = 0;
  gid_t inside_group = 0;
  gid_t outside_group = 0;
};

// Writes the maps of a process in a new user namespace. `process` is its directory in /proc. The
// caller is the process itself, if it was outside_user before, or the host's root.
Result<> write_id_map(const std::string& process, const IdMap& map);

}  // namespace nutshell::native
