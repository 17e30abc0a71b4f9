// The root of a sandbox as an almost empty directory: what it is made of is mounted on it. Nothing
// is ever written into an image.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "backends/gvisor/oci_config.h"
#include "base/result.h"

namespace nutshell::gvisor {

// Fills the empty directory `root`. `image` is a directory; empty: this machine's programs.
Result<std::vector<SharedPath>> write_skeleton(const std::filesystem::path& root,
                                               const std::string& image, const SandboxSpec& spec);

}  // namespace nutshell::gvisor
