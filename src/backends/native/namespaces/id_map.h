// User namespaces with one user and one group in them.
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

// For a process that has just entered a new user namespace, by its directory in /proc: written by
// itself, if it was outside_user before, or by the host's root.
Result<> write_id_map(const std::string& process, const IdMap& map);

}  // namespace nutshell::native
