// Carries a client's bytes to a daemon on another machine, for clients without a resolver and TLS.
#pragma once

#include <string>

#include "base/result.h"

namespace nutshell::daemon {

// Carries bytes between standard input, which is a socket, and the server at `url`, until both have
// ended. If the server cannot be reached, answers the client with an HTTP error.
// NUTSHELL_DAEMON_CA, _CERT and _KEY name the files that TLS takes.
Result<> run_bridge(const std::string& url);

}  // namespace nutshell::daemon
