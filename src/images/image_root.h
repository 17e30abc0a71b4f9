// What --image means to every backend that wants a directory: a directory is used where it is; an
// archive is unpacked once, into the user's cache; a name is that of an imported image.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/backend.h"

namespace nutshell::images {

struct ImageRoot {
  std::string directory;                 // of a root file system; empty: no image was asked for
  std::vector<std::string> environment;  // NAME=VALUE, as the image wants it
};

// `unpacker` is the program that unpacks archives, apart from this process because archives are
// hostile.
Result<ImageRoot> root_of(const std::string& image, ImageNaming naming,
                          const std::filesystem::path& unpacker);

// Whether it names an imported image.
bool is_stored(const std::string& image);

// The same for a program in another directory: a path becomes a whole one. The name of an imported
// image stays one.
std::string seen_from_anywhere(const std::string& image);

// Removes what interrupted unpackings and imports left.
void sweep_unpacked(SweepMode mode, SweepReport& report);

}  // namespace nutshell::images
