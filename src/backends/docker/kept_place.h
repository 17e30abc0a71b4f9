// Where a sandbox is, written down in the user's directory: the engine it belongs to, and the first
// process of its container where that is on this machine. Whoever connects to it or ends it need
// not ask the engine, which takes longer than a command and is impossible while it does not answer.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace nutshell::docker {

// `engine` is its address.
Result<> keep_place(const std::string& id, const std::string& engine);
Result<> keep_process(const std::string& id, const std::string& engine, pid_t process);
bool is_kept_for(const std::string& id, const std::string& engine);
// NotFound unless that very process still runs: its number alone may be another's by now.
Result<pid_t> kept_process(const std::string& id, const std::string& engine);
void forget_place(const std::string& id);

}  // namespace nutshell::docker
