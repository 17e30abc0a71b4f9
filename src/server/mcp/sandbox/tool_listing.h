// The answer to tools/list: made once from the tools and their policy, so that it is the same bytes
// every time.
#pragma once

#include <string>
#include <vector>

#include "core/tool.h"
#include "tools/tool_context.h"

namespace nutshell::mcp {

struct ToolPolicy {
  Dialect dialect = Dialect::Nutshell;
  std::string prefix;              // of the names
  bool has_network = false;        // else no tool reaches an open world
  bool is_disposable = true;       // the host's files stay as they are: nothing is destroyed
  bool is_structured = false;      // results have structured content too
  std::string mirrored_parameter;  // clients repeat it as a header; may be empty
  std::string mirrored_header;
};

// {"tools":[…]}
std::string tool_listing(const std::vector<Tool>& tools, const ToolPolicy& policy);

}  // namespace nutshell::mcp
