// What a misspelt path may have been meant as.
#pragma once

#include <string>

namespace nutshell::init {

// A path that exists and differs from `path` in the first component that does not; empty: none is
// near.
std::string near_path(const std::string& path);

}  // namespace nutshell::init
