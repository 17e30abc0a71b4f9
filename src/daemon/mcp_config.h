// The settings of /mcp.
#pragma once

#include "daemon/config.h"
#include "server/mcp/service/mcp_routes.h"

namespace nutshell::daemon {

Result<mcp::McpRoutesOptions> mcp_options(const Config& config);

}  // namespace nutshell::daemon
