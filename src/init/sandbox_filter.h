// The system-call filter of a native sandbox, for init as the first process of a container that an
// engine made: init installs it itself, before anything else runs there.
#pragma once

#include <linux/filter.h>

#include <span>

namespace nutshell {

// Whether init may take the sockets of commands, for a network policy.
enum class SocketsOfCommands { Stay, MayBeTaken };
std::span<const sock_filter> sandbox_filter(SocketsOfCommands sockets);

}  // namespace nutshell
