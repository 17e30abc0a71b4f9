// What clients read of a workspace, over any connection to its init.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "wire/init_client.h"

namespace nutshell::mcp {

// For a file of at most this many bytes; a path that does not begin at the root is the workspace's.
wire::ReadFile reading_of(const std::string& path, std::size_t most);
// What that reading gave; ResourceExhausted if the file is larger.
Result<std::string> whole_file(std::string bytes, const std::string& path, std::size_t most);

Result<std::vector<std::string>> names_in(wire::InitClient& client, const std::string& directory,
                                          std::size_t most);
Result<std::string> patch_of(wire::InitClient& client, std::size_t most);

}  // namespace nutshell::mcp
