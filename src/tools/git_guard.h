// A repository is hostile input, and its configuration names programs: hooks, filters, drivers,
// helpers. Here is what keeps git from running them when a tool calls it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/tool.h"

namespace nutshell {

// Git's own arguments, taken apart.
struct GitCommand {
  std::vector<std::string> options;  // before the subcommand: -C, --git-dir, …
  std::string name;                  // "diff"; empty: only options were given
  std::vector<std::string> words;    // behind it
};

std::variant<GitCommand, ToolError> parse_git(const std::vector<std::string>& args);

// Subcommands that exist to run a configured program or to talk to a person.
std::optional<ToolError> check_git(const GitCommand& command);
// Those that, called like this, change no file.
bool reads_only(const GitCommand& command);

// Prints the configuration that holds for this call; runs nothing.
std::vector<std::string> git_config_argv(const GitCommand& command);

// A setting that names a program and cannot be overridden: git keeps the first value it finds.
std::optional<ToolError> check_configuration(std::string_view configuration);

// What to run, and the environment that takes the place of what the repository configures.
// `configuration` is what git_config_argv printed.
std::vector<std::string> guarded_git_argv(const GitCommand& command);
std::vector<std::string> guarded_git_environment(const GitCommand& command,
                                                 std::string_view configuration);

// The key's harmless value, if a key of that name makes git run a program.
std::optional<std::string> harmless_value(std::string_view key);

}  // namespace nutshell
