// The tools there are, and the choice of them that a caller gets.
#pragma once

#include <string>
#include <vector>

#include "core/tool.h"
#include "tools/tool_context.h"

namespace nutshell {

// All of our own, always in the same order.
const std::vector<Tool>& tool_registry();

struct ToolChoice {
  std::vector<std::string> names;  // with or without prefix; empty: all
  bool reads_only = false;         // the profile `readonly`
  std::string prefix;              // "sandbox_"
  std::vector<Tool> user_tools;    // besides ours
};

// Named with the prefix. An unknown name is an error that suggests another.
Result<std::vector<Tool>> choose_tools(const ToolChoice& choice);

// By its name, with the prefix or without it.
Result<const Tool*> find_tool(const std::vector<Tool>& tools, const std::string& name,
                              const std::string& prefix);

}  // namespace nutshell
