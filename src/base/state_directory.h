// The directory in which this user's programs keep what outlives a reboot.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace nutshell {

// NUTSHELL_STATE_DIR, or /var/lib/nutshell for root, or nutshell in XDG_STATE_HOME or in
// ~/.local/state. NotFound if none of these is set.
Result<std::filesystem::path> user_state_directory();

// The same, and makes it, with mode 0700, and its parents.
Result<std::filesystem::path> make_user_state_directory();

}  // namespace nutshell
