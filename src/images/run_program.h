// Runs a program of the host to its end.
#pragma once

#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "base/spawn.h"

namespace nutshell::images {

// Returns what the command printed to standard output. A status other than 0 is an error with the
// end of what the command printed to standard error.
Result<std::string> run_program(Command command, const Deadline& deadline);

}  // namespace nutshell::images
