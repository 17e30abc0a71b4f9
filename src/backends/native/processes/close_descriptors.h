// Closes what a child process inherited and does not need.
#pragma once

#include <vector>

#include "base/result.h"

namespace nutshell::native {

// Closes all descriptors from 3 on but these; negative numbers are ignored.
Result<> close_all_but(std::vector<int> kept);

}  // namespace nutshell::native
