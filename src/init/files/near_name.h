// Suggests the path that a misspelt one may have been meant as.
#pragma once

#include <string>

namespace nutshell::init {

// Returns a path that exists and differs from `path` in its first component that does not exist;
// empty if none is near.
std::string near_path(const std::string& path);

}  // namespace nutshell::init
