// A directory as a tar archive: sorted, owned by root, dated 1970, so that the same files are the
// same bytes.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace nutshell::images {

// Files, directories and links; anything else is left out. Hard links become files of their own.
Result<> write_tar(const std::filesystem::path& directory, int output);

}  // namespace nutshell::images
