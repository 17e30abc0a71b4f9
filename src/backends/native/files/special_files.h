// Finds sockets, FIFOs and devices in a directory that becomes a workspace. They do not work in the
// sandbox, so the start reports them.
#pragma once

#include <cstddef>
#include <filesystem>

#include "wire/tree_stream.h"

namespace nutshell::native {

// Looking at so many entries takes about a millisecond, which delays the start.
inline constexpr std::size_t kMostEntriesLookedAt = 2000;

// Looks at entries near the top of the directory first, follows no links, and skips directories
// that cannot be read.
wire::SpecialFiles find_special_files(const std::filesystem::path& directory);

}  // namespace nutshell::native
