// Counts how often a sandbox tried to use the network: its network namespace counts the packets and
// connections for which it has no route, and it has routes to loopback only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace nutshell::native {

// Reads the count of the network namespace of `process`; nullopt if it cannot be read.
std::optional<std::uint64_t> count_unreachable(pid_t process);

// Parses /proc/net/snmp: a line of names, then one of numbers.
std::optional<std::uint64_t> no_routes_of_four(std::string_view text);
// Parses /proc/net/snmp6: a name and a number on each line.
std::optional<std::uint64_t> no_routes_of_six(std::string_view text);

}  // namespace nutshell::native
