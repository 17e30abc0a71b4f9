// The flag --secret: NAME=@SOURCE,host=HOST[,host=HOST…][,in=query][,in=body]. The value itself is
// never in the flag, because other users of the machine see arguments.
#pragma once

#include <string>

#include "base/result.h"
#include "core/network_policy.h"

namespace nutshell::cli {

// Reads the value from its source: @env:VARIABLE, @file:PATH or @command:PROGRAM ARGUMENT…
Result<NetworkSecret> parse_secret(const std::string& text);

}  // namespace nutshell::cli
