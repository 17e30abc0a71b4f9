// Carries a client's bytes to a daemon on another machine: names, TCP and TLS for programs that
// have none of them.
#pragma once

#include <string>

#include "base/result.h"

namespace nutshell::daemon {

// Between standard input, which is a socket, and what listens at `url`, until both have ended. What
// cannot be reached is answered for, as HTTP: whoever is on the socket waits for an answer.
// NUTSHELL_DAEMON_CA, _CERT and _KEY name the files that TLS takes.
Result<> run_bridge(const std::string& url);

}  // namespace nutshell::daemon
