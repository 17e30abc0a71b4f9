// The bounds of the daemon's listeners, from the configuration and the machine.
#pragma once

#include "daemon/config.h"
#include "http/server.h"

namespace nutshell::daemon {

// Connections get at most a part of this process's descriptors, so that some are always left.
http::ServerLimits server_limits(const Config& config);

}  // namespace nutshell::daemon
