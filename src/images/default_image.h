// Builds a small image with the tools that agents use from Debian packages: bash, git, curl, jq,
// ripgrep, busybox for everything else, and the certificates of the usual authorities. Needs
// apt-get and no privileges.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"
#include "images/import.h"

namespace nutshell::images {

inline constexpr const char* kDefaultImage = "default";

struct DefaultBuild {
  std::filesystem::path unpacker;  // nutshell-unpack
  std::string name = kDefaultImage;
  std::function<void(const std::string&)> show_progress = nullptr;
};

// The caller ignores SIGPIPE.
Result<Imported> build_default_image(ImageStore& store, const DefaultBuild& order);

// Returns the package names in the output of `apt-cache depends --recurse`.
std::vector<std::string> packages_in(std::string_view listing);

}  // namespace nutshell::images
