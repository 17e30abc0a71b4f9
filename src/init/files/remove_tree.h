// Removes a directory with everything in it, however deep, without following a link or entering a
// mount.
#pragma once

#include <string>

#include "base/result.h"

namespace nutshell::init {

Result<> remove_tree(int directory, const std::string& name);

}  // namespace nutshell::init
