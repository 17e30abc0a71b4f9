// Which daemon, if any, a command's sandboxes are had from.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/command.h"

namespace nutshell::cli {

// Whether a command looks for the user's own daemon when nobody names one.
enum class OwnDaemon { Used, Ignored };

// In this order: --daemon, NUTSHELL_DAEMON, the key of a --config file, the user's own daemon if it
// runs. "none" is none of them. One that was named and does not answer is an error when it is asked
// for something; nothing falls back to another place.
Result<> choose_daemon(Program& program, OwnDaemon own);
// For the commands that read such a file, once it is read.
Result<> choose_daemon_of_config(Program& program, const std::string& named);

}  // namespace nutshell::cli
