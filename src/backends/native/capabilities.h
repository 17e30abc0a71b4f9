// Gives up every capability, for good.
#pragma once

#include "base/result.h"

namespace nutshell::native {

Result<> drop_capabilities();

}  // namespace nutshell::native
