// The project's own renderer files, src/compaction/renderers/*.toml, compiled into the program.
#pragma once

#include <span>

#include "compaction/user_renderer.h"

namespace nutshell::compaction {

// Reads them at the first call; a file that is not valid is a bug, and left out.
std::span<const UserRenderer> own_renderers();

}  // namespace nutshell::compaction
