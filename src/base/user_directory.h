// Where a user's sandboxes and what is kept of them can be found: a directory that only this user
// can enter.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace nutshell {

// NUTSHELL_RUNTIME_DIR, or /run/nutshell for root, or a folder of XDG_RUNTIME_DIR, or one in /tmp.
// Made if missing; refused if anyone else could have a hand in it.
Result<std::filesystem::path> open_user_directory();

}  // namespace nutshell
