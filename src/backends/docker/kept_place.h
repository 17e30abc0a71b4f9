// Remembers, in a file of the user's directory, the first process of a sandbox's container on this
// machine. Who connects to the sandbox or ends it then need not ask the engine, which takes longer
// than a command and is impossible while the engine does not answer.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace nutshell::docker {

// `engine` is its address.
Result<> keep_process(const std::string& id, const std::string& engine, pid_t process);
// NotFound unless that very process still runs: its number alone may be another's by now.
Result<pid_t> kept_process(const std::string& id, const std::string& engine);
void forget_place(const std::string& id);

}  // namespace nutshell::docker
