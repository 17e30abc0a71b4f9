// Removes a directory with everything in it, however deep, without following a link or entering a
// mount.
#pragma once

#include <string>

#include "base/result.h"

namespace nutshell::init {

// Directories whose modes keep their owner out: as they are, or made writable on the way.
enum class ClosedDirectories { Respected, OpenedUp };

bool is_mount_in(int directory, const std::string& name);

Result<> remove_tree(int directory, const std::string& name,
                     ClosedDirectories closed = ClosedDirectories::Respected);

}  // namespace nutshell::init
