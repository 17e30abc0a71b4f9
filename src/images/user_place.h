// The directories of a user's images.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace nutshell::images {

// NUTSHELL_IMAGE_DIR, or /var/lib/nutshell/images for root, or nutshell/images in XDG_DATA_HOME or
// ~/.local/share.
Result<std::filesystem::path> image_directory();

// The cache of unpacked archives: in XDG_CACHE_HOME, or /var/cache for root, or ~/.cache, or /tmp
// for users without a home.
std::filesystem::path unpacked_directory();

}  // namespace nutshell::images
