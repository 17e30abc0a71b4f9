// Chooses the daemon, if any, whose sandboxes a command uses.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/command.h"

namespace nutshell::cli {

// Whether a command uses the user's own daemon if no other is named.
enum class OwnDaemon { Used, Ignored };

// In this order: --daemon, NUTSHELL_DAEMON, the key of a --config file, the user's own daemon if it
// runs. "none" means no daemon. A named daemon that does not answer is an error at the first
// request; there is no fallback.
Result<> choose_daemon(Program& program, OwnDaemon own);
// Takes the daemon that a --config file names, unless the command line or environment names one.
Result<> choose_daemon_of_config(Program& program, const std::string& named);

}  // namespace nutshell::cli
