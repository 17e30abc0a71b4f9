// User namespaces with one user and one group in them.
#pragma once

#include <sys/types.h>

#include "base/result.h"

namespace nutshell::native {

struct IdMap {
  uid_t inside_user = 0;
  uid_t outside_user = 0;
  gid_t inside_group = 0;
  gid_t outside_group = 0;
};

// For a process that has just entered a new user namespace and was outside_user before.
Result<> write_id_map(const IdMap& map);

}  // namespace nutshell::native
