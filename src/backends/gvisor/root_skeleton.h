// Makes the root directory of a sandbox: mount points, links and empty files. The content is
// mounted on them, so that nothing is ever written into an image.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "backends/gvisor/oci_config.h"
#include "base/result.h"

namespace nutshell::gvisor {

// Fills the directory `root` and returns what to mount. `image` is a directory; if empty, the root
// has this machine's programs.
Result<std::vector<SharedPath>> write_skeleton(const std::filesystem::path& root,
                                               const std::string& image, const SandboxSpec& spec);

}  // namespace nutshell::gvisor
