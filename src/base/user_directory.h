// The directory with the sockets and records of a user's sandboxes. Only that user can enter it.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace nutshell {

// NUTSHELL_RUNTIME_DIR, or /run/nutshell for root, or a folder of XDG_RUNTIME_DIR, or one in /tmp.
// Makes it if it is missing; refuses one that others own or can enter.
Result<std::filesystem::path> open_user_directory();

}  // namespace nutshell
