// Removes a directory with everything in it, however deep, without following a link or entering a
// mount.
#pragma once

#include <string>

#include "base/result.h"

namespace nutshell::init {

// How to treat directories whose modes keep their owner out: left as they are, or made writable.
enum class ClosedDirectories { Respected, OpenedUp };

bool is_mount_in(int directory, const std::string& name);

Result<> remove_tree(int directory, const std::string& name,
                     ClosedDirectories closed = ClosedDirectories::Respected);

}  // namespace nutshell::init
