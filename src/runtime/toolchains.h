// Shows a sandbox the tools that its user has installed outside /usr: adds read-only mounts at the
// tools' own paths, and PATH and other variables as the user has them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/sandbox_spec.h"

namespace nutshell {

// The user whose tools are shown.
struct ToolchainUser {
  std::filesystem::path
      home;  // absolute; if empty, only tools outside the home directory are shown
  std::function<std::string(const char*)> variable;  // of the environment; empty if it is not set
  // Directories that a sandbox has of its own; no tool is shown below them.
  std::vector<std::filesystem::path> covered = {"/tmp", "/var/tmp"};
};

// Returns the user who runs this process.
ToolchainUser this_user();

// Replaces `toolchains = auto` by mounts and variables. Variables and mounts that the spec has
// already win. Tools whose directory does not exist, or could not be mounted, are left out.
SandboxSpec with_toolchains(SandboxSpec spec, const ToolchainUser& user);

}  // namespace nutshell
