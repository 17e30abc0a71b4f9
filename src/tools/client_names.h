// The argument names of other clients' built-in tools, which models use out of habit. They are
// accepted, and cost nothing in the catalogue.
#pragma once

#include <span>
#include <string_view>

#include "core/tool.h"

namespace nutshell {

// How a value under such a name is read.
enum class Reading : std::uint8_t {
  Same,          // as the parameter's own
  Clamped,       // a number that is brought into the parameter's range
  Milliseconds,  // a number that is divided by 1000, rounded up and brought into the range
  Background,    // true: the number 0
  Widest,        // a number; the largest counts if several are given
  Limit,         // a number from 0; the parameter is not in the schema, and 0 means no limit
  Nothing,       // anything; it is ignored
};

struct ClientName {
  std::string_view tool;
  std::string_view name;
  std::string_view parameter;  // for Nothing: a parameter that tells this tool from others
  Reading reading = Reading::Same;
};

std::span<const ClientName> client_names();
// Returns nullptr if no client uses this name for this tool. Knows a tool also behind a prefix.
const ClientName* find_client_name(const Tool& tool, std::string_view name);

// Claude Code gives the timeout of a command in milliseconds, under the name that is used here for
// seconds. From this number on it can only be milliseconds.
inline constexpr std::int64_t kLeastMilliseconds = 10'000;

}  // namespace nutshell
