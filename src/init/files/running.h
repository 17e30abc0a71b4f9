// Names the processes that run in the sandbox besides init.
#pragma once

#include <string>

namespace nutshell::init {

// Returns "make (pid 12) and 3 others"; empty if there are none. Only for PID 1 of a sandbox.
std::string describe_running();

}  // namespace nutshell::init
