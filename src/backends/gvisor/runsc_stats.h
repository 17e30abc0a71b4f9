// Reads the output of "runsc events --stats". Counts that gVisor does not make stay empty.
#pragma once

#include <string_view>

#include "base/result.h"
#include "core/sandbox_stats.h"

namespace nutshell::gvisor {

// Corrupt if the text is not such output.
Result<SandboxStats> read_stats(std::string_view text);

}  // namespace nutshell::gvisor
