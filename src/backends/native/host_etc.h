// The /etc of a sandbox that runs the host's programs: written by us, with nothing of the host's
// users, names or secrets; only what programs in /usr need to find their parts is the host's.
#pragma once

#include "base/result.h"

namespace nutshell::native {

Result<> write_host_etc(int root);

}  // namespace nutshell::native
