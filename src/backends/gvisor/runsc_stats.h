// What "runsc events --stats" prints: gVisor's own counts, which it may give or not.
#pragma once

#include <string_view>

#include "base/result.h"
#include "core/sandbox_stats.h"

namespace nutshell::gvisor {

// Corrupt where it is none.
Result<SandboxStats> read_stats(std::string_view text);

}  // namespace nutshell::gvisor
