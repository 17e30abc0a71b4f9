// The list of backends. A new one is a folder beside this file and a line in registry.cc.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/daemon_access.h"
#include "core/init_entry.h"

namespace nutshell {

// Everything that a program passes to the backends that it makes.
struct BackendContext {
  InitEntry init;                  // init's own code, for backends that clone themselves
  std::filesystem::path programs;  // the directory of our other programs
  // If set, sandboxes are made by that daemon, and this process uses none of its own backends.
  std::optional<DaemonAccess> daemon = {};
  // Shows the progress of slow work: a line replaces the last one unless that ended with '\n'. May
  // be null.
  std::function<void(const std::string&)> show_progress = nullptr;
};

struct BackendEntry {
  char id_letter;  // the ids of its sandboxes begin with it; no other backend has it
  std::string name;
  std::string summary;
  std::function<std::unique_ptr<Backend>(const BackendContext&)> make;
  // Whether a sandbox without an image has this machine's programs, at their own paths.
  bool has_host_programs = false;
  // Whether its sandboxes can have a network by a policy.
  bool has_network = false;
};

const std::vector<BackendEntry>& backend_registry();
// The entry that stands for all backends of a daemon. Its letter is not used: the daemon's ids
// begin with the letters of the daemon's backends.
const std::vector<BackendEntry>& daemon_backend_entry();

}  // namespace nutshell
