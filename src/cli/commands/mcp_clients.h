// `nutshell mcp init` and `nutshell mcp doctor`: the clients' side of the server.
#pragma once

#include "cli/command.h"
#include "cli/mcp_config.h"

namespace nutshell::cli {

void add_mcp_init(const CommandLine& mcp, Program& program);
void add_mcp_doctor(const CommandLine& mcp, Program& program);

// As a client is to start the server: by name where that leads here, else by path.
Result<McpCommand> own_mcp_command(const std::vector<std::string>& flags);
// Of this client, for the project in this directory and the user who runs us.
Result<std::string> mcp_config_path(const McpClient& client);

}  // namespace nutshell::cli
