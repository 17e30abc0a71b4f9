// The seccomp profile that a container with a network policy asks the engine for. Docker's own
// profile keeps init from taking the socket of a command that connects.
#pragma once

#include <string>

namespace nutshell::docker {

// Returns JSON. The profile allows the system calls of the native backend's filter, by name. Init
// adds that filter itself, with its conditions on arguments, before any command runs.
std::string seccomp_profile();

}  // namespace nutshell::docker
