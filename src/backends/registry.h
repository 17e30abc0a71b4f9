// The backends there are. A new one is a folder beside this file and a line in registry.cc.
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

// What the program that makes backends gives each of them.
struct BackendContext {
  InitEntry init;                  // init's own code, for backends that clone themselves
  std::filesystem::path programs;  // the directory of our other programs
  // Given: sandboxes are that daemon's, and no backend is used here.
  std::optional<DaemonAccess> daemon = {};
  // A line on what takes long, replacing the last one; with '\n' it stays. Null: nobody looks.
  std::function<void(const std::string&)> show_progress = nullptr;
};

struct BackendEntry {
  char id_letter;  // which the ids of its sandboxes begin with, and those of no other backend
  std::string name;
  std::string summary;
  std::function<std::unique_ptr<Backend>(const BackendContext&)> make;
};

const std::vector<BackendEntry>& backend_registry();
// The entry that stands for all backends of a daemon. Its letter is of no use: a daemon's ids begin
// with the letters of its own backends.
const std::vector<BackendEntry>& daemon_backend_entry();

}  // namespace nutshell
