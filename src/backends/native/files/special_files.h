// Finds sockets, FIFOs and devices in a directory that becomes a workspace, so that the start can
// name them: in the sandbox they do not work.
#pragma once

#include <cstddef>
#include <filesystem>

#include "wire/tree_stream.h"

namespace nutshell::native {

// A start does not wait longer than it takes to look at so many entries, about a millisecond.
inline constexpr std::size_t kMostEntriesLookedAt = 2000;

// Looks at entries near the top of the directory first and follows no link. Leaves out what cannot
// be read.
wire::SpecialFiles find_special_files(const std::filesystem::path& directory);

}  // namespace nutshell::native
