// How often a sandbox tried to reach what there is no way to: its network namespace counts packets
// and connections for which it has no route, and beyond loopback it has none.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace nutshell::native {

// Of the network namespace that `process` is in. Nothing: it cannot be seen.
std::optional<std::uint64_t> count_unreachable(pid_t process);

// From the text of /proc/net/snmp: a line of names, then one of numbers.
std::optional<std::uint64_t> no_routes_of_four(std::string_view text);
// From the text of /proc/net/snmp6: a name and a number a line.
std::optional<std::uint64_t> no_routes_of_six(std::string_view text);

}  // namespace nutshell::native
