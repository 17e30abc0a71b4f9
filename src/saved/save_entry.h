// Lets a backend save the layers of a sandbox that has ended. The layers are init's, so init's code
// reads them; backends may not include it.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "saved/change_archive.h"

namespace nutshell::saved {

enum class Saved {
  Workspace,  // its changes
  Caches,     // those of saved/kept_caches.h, in HOME
};

struct LayersToSave {
  int store = -1;           // the directory that holds the layers
  int base = -1;            // first content of /workspace
  bool is_copied = false;   // /workspace is a copy of the base, and no overlay
  std::string mount_table;  // the sandbox's /proc/self/mountinfo
  Saved what = Saved::Workspace;
};

// Adds all changes, or all files of the caches, to the archive, without finishing it. No process of
// the sandbox may be alive.
using SaveEntry = std::function<Result<>(const LayersToSave& layers, ArchiveWriter& archive)>;

}  // namespace nutshell::saved
