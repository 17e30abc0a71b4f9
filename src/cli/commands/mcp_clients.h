// `nutshell mcp init` and `nutshell mcp doctor`, which read and write the clients' configurations.
#pragma once

#include "cli/command.h"
#include "cli/mcp_config.h"

namespace nutshell::cli {

void add_mcp_init(const CommandLine& mcp, Program& program);
void add_mcp_doctor(const CommandLine& mcp, Program& program);

// The command by which a client starts the server: by name if PATH leads to this program, else by
// path.
Result<McpCommand> own_mcp_command(const std::vector<std::string>& flags);
// The client's configuration file, for the project in this directory or for this user.
Result<std::string> mcp_config_path(const McpClient& client);

}  // namespace nutshell::cli
