// A tool's result as the protocol carries it.
#pragma once

#include <string>

#include "core/tool.h"

namespace nutshell::mcp {

enum class Content : std::uint8_t {
  Text,        // what a model reads, and nothing that a client could show it instead
  Structured,  // the same text in an object too, with the rest of the result
};

// {"content":[…],"isError":…}
std::string tool_content(const ToolResult& result, Content content);

}  // namespace nutshell::mcp
