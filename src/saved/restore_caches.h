// Writes kept caches into HOME of a new sandbox.
#pragma once

#include "base/result.h"
#include "saved/change_archive.h"
#include "wire/init_client.h"

namespace nutshell::saved {

// The archive is hostile: a path outside the cache directories is an error.
Result<> restore_caches(wire::InitClient& init, ArchiveReader& archive);

}  // namespace nutshell::saved
