// Writes a tool's result as MCP content.
#pragma once

#include <string>

#include "core/tool.h"

namespace nutshell::mcp {

enum class Content : std::uint8_t {
  Text,        // what a model reads, and nothing that a client could show it instead
  Structured,  // also an object with the text and the rest of the result
};

// {"content":[…],"isError":…}
std::string tool_content(const ToolResult& result, Content content);

}  // namespace nutshell::mcp
