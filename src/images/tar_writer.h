// Writes a directory as a tar archive: sorted, owned by root, dated 1970, so that the same files
// give the same bytes.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace nutshell::images {

// Writes files, directories and links, and leaves out the rest. Hard links become separate files.
Result<> write_tar(const std::filesystem::path& directory, int output);

}  // namespace nutshell::images
