// Generates JSON schemas and documentation from the descriptions of tools.
#pragma once

#include <string>
#include <vector>

#include "core/tool.h"
#include "tools/tool_context.h"

namespace nutshell {

// {"type":"object","properties":…}
std::string input_schema(const Tool& tool, Dialect dialect);
// {"name":…,"description":…,"inputSchema":…}; with hints as MCP annotations if asked for.
enum class Annotations { Left, Given };
std::string tool_schema(const Tool& tool, Dialect dialect, Annotations annotations);
// The JSON list of tools that a model gets.
std::string catalogue(const std::vector<Tool>& tools, Dialect dialect);

// The generated part of docs/tools.md.
std::string markdown(const std::vector<Tool>& tools);

}  // namespace nutshell
