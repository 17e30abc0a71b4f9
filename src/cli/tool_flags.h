// Flags that choose the tools a caller gets and their dialect, for all commands that offer tools.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "core/tool.h"
#include "tools/tool_context.h"

namespace nutshell::cli {

struct ToolFlags {
  std::vector<std::string> tools;
  std::string profile = "full";
  std::string prefix = "sandbox_";
  std::string tools_file;
  std::string dialect = "nutshell";

  [[nodiscard]] bool reads_only() const { return profile == "readonly"; }
  [[nodiscard]] Dialect chosen_dialect() const {
    return dialect == "roomkit" ? Dialect::RoomKit : Dialect::Nutshell;
  }
};

void add_tool_flags(const CommandLine& command, ToolFlags& flags);
Result<std::vector<Tool>> tools_of(const ToolFlags& flags);

}  // namespace nutshell::cli
