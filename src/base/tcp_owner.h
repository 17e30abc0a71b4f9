// Finds out which user of this machine has the other end of a TCP connection.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace nutshell {

// The user who made the peer's socket of a connection over IPv4 between two sockets of this
// machine, and of this network namespace. An error if the peer is elsewhere, or has closed its
// socket: a socket without a process counts as root's in the kernel's table.
Result<std::uint32_t> owner_of_peer(int connection);

// The user in a line of /proc/net/tcp, if the line is the established socket with these ends, as
// that table writes them ("0100007F:1F90"); Unavailable if no line is.
Result<std::uint32_t> owner_in_table(std::string_view table, std::string_view local,
                                     std::string_view remote);

}  // namespace nutshell
