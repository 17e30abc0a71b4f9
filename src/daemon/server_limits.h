// The bounds of the daemon's listeners, as the configuration and the machine set them.
#pragma once

#include "daemon/config.h"
#include "http/server.h"

namespace nutshell::daemon {

// Connections take at most a part of the descriptors that this process may have, so that no client
// can leave it without any.
http::ServerLimits server_limits(const Config& config);

}  // namespace nutshell::daemon
