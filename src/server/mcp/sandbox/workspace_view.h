// Reads files and changes of a workspace over a connection to its init.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/call_memory.h"
#include "wire/init_client.h"

namespace nutshell::mcp {

// The request for a file of at most `most` bytes; a relative path lies in the workspace.
wire::ReadFile reading_of(const std::string& path, std::size_t most);
// The bytes that were read; TooLarge if the file has more than `most`.
Result<std::string> whole_file(std::string bytes, const std::string& path, std::size_t most);

Result<std::vector<std::string>> names_in(wire::InitClient& client, const std::string& directory,
                                          std::size_t most);
// The changes as a patch of at most `most` bytes. What it holds meanwhile is charged to `memory`.
Result<std::string> patch_of(wire::InitClient& client, std::size_t most, CallMemory& memory);

}  // namespace nutshell::mcp
