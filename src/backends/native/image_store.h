// Root file systems to run in: a directory is used where it is; an archive is unpacked once, into
// the user's cache.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "core/backend.h"

namespace nutshell::native {

// The directory to use for what the user gave; empty stays empty. `unpacker` is the program that
// unpacks archives, apart from this process because archives are hostile.
Result<std::string> resolve_image(const std::string& image, const std::filesystem::path& unpacker);

// Removes what interrupted unpackings left.
void sweep_images(SweepMode mode, SweepReport& report);

}  // namespace nutshell::native
