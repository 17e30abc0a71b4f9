// Keeps git from running programs that a repository configures: hooks, filters, drivers, helpers.
// A repository is hostile input.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/tool.h"

namespace nutshell {

// The arguments of git, parsed.
struct GitCommand {
  std::vector<std::string> options;  // before the subcommand: -C, --git-dir, …
  std::string name;                  // "diff"; empty: only options were given
  std::vector<std::string> words;    // after the subcommand
};

std::variant<GitCommand, ToolError> parse_git(const std::vector<std::string>& args);

// Refuses subcommands that exist to run a configured program or to talk to a person.
std::optional<ToolError> check_git(const GitCommand& command);
// Whether the command changes no file.
bool reads_only(const GitCommand& command);

// The command that prints the names of all settings for this call. It runs no other program.
std::vector<std::string> git_config_argv(const GitCommand& command);

// Refuses settings that name a program and cannot be overridden: git keeps their first value.
std::optional<ToolError> check_configuration(std::string_view configuration);

// The command, and the environment that overrides what the repository configures.
// `configuration` is what git_config_argv printed.
std::vector<std::string> guarded_git_argv(const GitCommand& command);
std::vector<std::string> guarded_git_environment(const GitCommand& command,
                                                 std::string_view configuration);

// A harmless value for a key that makes git run a program; nullopt for other keys.
std::optional<std::string> harmless_value(std::string_view key);

}  // namespace nutshell
