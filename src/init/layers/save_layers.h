// Reads the layers and HOME of a sandbox that has ended, and writes the changes of its workspace or
// its caches to an archive. Runs on the host: the files are hostile, but nothing writes to them any
// more.
#pragma once

#include "saved/save_entry.h"

namespace nutshell::init {

Result<> save_layers(const saved::LayersToSave& layers, saved::ArchiveWriter& archive);

}  // namespace nutshell::init
