// The look-up of open_beneath without openat2, for kernels that lack it: gVisor, and Linux before
// 5.6. Each name on the way is opened by itself and never followed; links are read and resolved
// here. Every directory on the way up is held open, so that ".." leads to where we came from,
// whatever is renamed meanwhile.
#pragma once

#include <string>

#include "base/beneath.h"

namespace nutshell {

Result<UniqueFd> walk_beneath(int directory, const std::string& path, int flags, unsigned mode,
                              Links links);

}  // namespace nutshell
