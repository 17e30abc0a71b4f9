// Gives up every capability, for good.
#pragma once

#include "base/result.h"

namespace nutshell::native {

// Empties the set of capabilities that a program could gain by exec. Needs a capability itself, so
// it comes first.
Result<> empty_bounding_set();
Result<> drop_capabilities();

}  // namespace nutshell::native
