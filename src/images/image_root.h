// Turns the value of --image into a directory: a directory is used where it is, an archive is
// unpacked once into the user's cache, and a name means an imported image.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/backend.h"

namespace nutshell::images {

struct ImageRoot {
  std::string directory;                 // a root file system; empty if no image was asked for
  std::vector<std::string> environment;  // NAME=VALUE, from the image's configuration
};

// `unpacker` is the program that unpacks archives, in its own process because archives are hostile.
Result<ImageRoot> root_of(const std::string& image, ImageNaming naming,
                          const std::filesystem::path& unpacker);

// Whether it names an imported image.
bool is_stored(const std::string& image);

// Makes the value independent of the working directory: a path becomes absolute, the name of an
// imported image stays as it is.
std::string seen_from_anywhere(const std::string& image);

// Removes the remains of interrupted unpackings and imports.
void sweep_unpacked(SweepMode mode, SweepReport& report);

}  // namespace nutshell::images
