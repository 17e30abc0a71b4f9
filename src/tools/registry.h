// All tools, and the selection that a caller gets.
#pragma once

#include <string>
#include <vector>

#include "core/tool.h"
#include "tools/tool_context.h"

namespace nutshell {

// All built-in tools, always in the same order.
const std::vector<Tool>& tool_registry();

struct ToolChoice {
  std::vector<std::string> names;  // with or without prefix; empty: all
  bool reads_only = false;         // the profile `readonly`
  std::string prefix;              // "sandbox_"
  std::vector<Tool> user_tools;    // in addition to the built-in ones
};

// Returns the chosen tools, named with the prefix. An unknown name is an error with a suggestion.
Result<std::vector<Tool>> choose_tools(const ToolChoice& choice);

// Finds a tool by its name, with or without the prefix.
Result<const Tool*> find_tool(const std::vector<Tool>& tools, const std::string& name,
                              const std::string& prefix);

}  // namespace nutshell
