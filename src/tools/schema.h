// What is made from a tool's description: its JSON schema, and its page of the documentation.
#pragma once

#include <string>
#include <vector>

#include "core/tool.h"
#include "tools/tool_context.h"

namespace nutshell {

// {"type":"object","properties":…}
std::string input_schema(const Tool& tool, Dialect dialect);
// {"name":…,"description":…,"inputSchema":…}; hints as MCP's annotations where asked for.
enum class Annotations { Left, Given };
std::string tool_schema(const Tool& tool, Dialect dialect, Annotations annotations);
// The list of them, as a model gets it.
std::string catalogue(const std::vector<Tool>& tools, Dialect dialect);

// docs/tools.md, the part that is made from the tools.
std::string markdown(const std::vector<Tool>& tools);

}  // namespace nutshell
