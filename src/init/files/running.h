// What runs in the sandbox besides init, in words.
#pragma once

#include <string>

namespace nutshell::init {

// "make (pid 12) and 3 others"; empty: nothing does. Meant for the PID 1 of a sandbox.
std::string describe_running();

}  // namespace nutshell::init
