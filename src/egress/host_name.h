// Names of hosts in the one form in which they are compared: lower case, ASCII, no final dot.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nutshell::egress {

// Returns the name in that form; nullopt if it is not a name that DNS can have, or looks like an
// address: some programs take "127.1" and "0x7f000001" for one.
std::optional<std::string> canonical_name(std::string_view text);

// Whether `name` ends with `parent` and has at least one label before it. Both are canonical.
bool is_below(std::string_view name, std::string_view parent);

}  // namespace nutshell::egress
