// The root file system of the default image.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace nutshell::images {

// Makes it from packages that were unpacked over each other, in an empty directory on the same file
// system: the tools, the libraries that they need and nothing else.
Result<> make_default_root(const std::filesystem::path& files, const std::filesystem::path& root);

}  // namespace nutshell::images
