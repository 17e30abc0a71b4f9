// The flags that describe a sandbox and an exec, from the command line or a file. Which flags there
// are, what they mean and what stands in their help comes from the field lists of SandboxSpec and
// ExecRequest (core/field.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "core/exec.h"
#include "core/sandbox_spec.h"

namespace nutshell::cli {

// As given, not yet understood, by the flag's word without its dashes.
struct Flags {
  std::map<std::string, std::optional<std::string>, std::less<>> texts;
  std::map<std::string, std::vector<std::string>, std::less<>> lists;  // may be repeated
  std::string config;
  bool has_input = false;
  bool has_terminal = false;
  bool is_json = false;
  std::vector<std::string> command;  // what stands behind the flags

  [[nodiscard]] std::optional<std::string> text(std::string_view flag) const;
  [[nodiscard]] std::vector<std::string> list(std::string_view flag) const;
};

void add_sandbox_flags(const CommandLine& command, Flags& flags);
void add_exec_flags(const CommandLine& command, Flags& flags);
// One flag of a sandbox, for commands that take only some, or describe it in words of their own.
CommandOption add_sandbox_flag(const CommandLine& command, Flags& flags, std::string_view flag,
                               const std::string& help = {});
// For the commands that make a sandbox and run in it.
void add_copy_flag(const CommandLine& command, Flags& flags);

// What was not given on the command line is taken from --config.
Result<> read_config(Flags& flags);
// Words that give the same flags to another run of this program.
std::vector<std::string> to_words(const Flags& flags);

Result<SandboxSpec> to_spec(const Flags& flags);
// The variables of -e, for every command of a sandbox. NAME alone takes the value from our own
// environment.
Result<std::vector<std::string>> environment_of(const Flags& flags);
Result<ExecRequest> to_exec(const Flags& flags);

// A path here, and where it goes inside.
struct Copied {
  std::string source;
  std::string target;
};
Result<std::vector<Copied>> to_copies(const Flags& flags);

}  // namespace nutshell::cli
