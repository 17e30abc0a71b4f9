// Whether a sandbox that runs on this machine can have what it asks for.
#pragma once

#include "base/result.h"
#include "core/limits.h"

namespace nutshell {

// Refuses limits that the machine does not have: more memory than its RAM, or more than half of the
// process ids that its kernel can give.
Result<> check_fits_machine(const Limits& limits);

}  // namespace nutshell
