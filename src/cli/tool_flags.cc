#include "cli/tool_flags.h"

#include "base/file.h"
#include "cli/command_line.h"
#include "tools/registry.h"
#include "tools/user_tools.h"

namespace nutshell::cli {

void add_tool_flags(const CommandLine& command, ToolFlags& flags) {
  const char* group = "Choice of tools";
  command.add_option("--tools", flags.tools, "Only these tools, for example read,grep,ls")
      .delimiter(',')
      .group(group);
  command
      .add_option("--profile", flags.profile, "full, or readonly: only tools that change nothing")
      .is_one_of({"full", "readonly"})
      .group(group);
  command
      .add_option("--tool-prefix", flags.prefix,
                  "Prefix of every tool name (sandbox_); may be empty")
      .group(group);
  command.add_option("--tools-file", flags.tools_file, "TOML file with tools of your own")
      .group(group);
  command
      .add_option(
          "--dialect", flags.dialect,
          "nutshell, or roomkit: RoomKit's names, lines from 0, results below 20000 characters")
      .is_one_of({"nutshell", "roomkit"})
      .group(group);
}

Result<std::vector<Tool>> tools_of(const ToolFlags& flags) {
  ToolChoice choice;
  choice.names = flags.tools;
  choice.reads_only = flags.reads_only();
  choice.prefix = flags.prefix;
  if (!flags.tools_file.empty()) {
    const std::string text = TRY(read_file(flags.tools_file));
    choice.user_tools = TRY(parse_user_tools(text, flags.tools_file));
  }
  return choose_tools(choice);
}

}  // namespace nutshell::cli
