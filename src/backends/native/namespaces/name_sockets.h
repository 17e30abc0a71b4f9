// The sockets by which init answers look-ups of names: port 53 is one that only root may use.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

struct NameSockets {
  UniqueFd datagrams;
  UniqueFd listener;
};

// For a process in the sandbox's network namespace, while it has rights there.
Result<NameSockets> open_name_sockets();

}  // namespace nutshell::native
