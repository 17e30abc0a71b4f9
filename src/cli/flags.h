// The flags that describe a sandbox and an exec, from the command line or a file. Which flags there
// are, what they mean and their help texts come from the field lists of SandboxSpec and
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

// The flags as given, not yet parsed. Keys are flag names without dashes.
struct Flags {
  std::map<std::string, std::optional<std::string>, std::less<>> texts;
  std::map<std::string, std::vector<std::string>, std::less<>>
      lists;  // of flags that may be repeated
  std::string config;
  bool has_input = false;
  bool has_terminal = false;
  bool is_json = false;
  std::vector<std::string> command;  // the command to run in the sandbox

  [[nodiscard]] std::optional<std::string> text(std::string_view flag) const;
  [[nodiscard]] std::vector<std::string> list(std::string_view flag) const;
};

// `defaults` are shown in the help.
void add_sandbox_flags(const CommandLine& command, Flags& flags, const SandboxSpec& defaults = {});
// Adds the flags of a command; those of its streams only if it has them for itself.
enum class Streams : std::uint8_t { Own, Shared };
void add_exec_flags(const CommandLine& command, Flags& flags, Streams streams = Streams::Own);
// The names of the backends, for a flag that takes one.
std::vector<std::string> backend_names();
// Adds one flag of a sandbox, for commands that take only some of them. `help` replaces its text.
CommandOption add_sandbox_flag(const CommandLine& command, Flags& flags, std::string_view flag,
                               const std::string& help = {});
// Adds --copy, for commands that make a sandbox and run in it.
void add_copy_flag(const CommandLine& command, Flags& flags);

// Takes flags that the command line does not give from the file of --config.
Result<> read_config(Flags& flags);
// The same flags as words, for another run of this program.
std::vector<std::string> to_words(const Flags& flags);

Result<SandboxSpec> to_spec(const Flags& flags);
// The same, but flags that were not given keep the values of `spec`.
Result<SandboxSpec> to_spec(const Flags& flags, SandboxSpec spec);
// The variables of -e, for every command of a sandbox. NAME alone takes its value from the
// environment of this process.
Result<std::vector<std::string>> environment_of(const Flags& flags);
Result<ExecRequest> to_exec(const Flags& flags);

// A path on this machine, and where it goes in the sandbox.
struct Copied {
  std::string source;
  std::string target;
};
Result<std::vector<Copied>> to_copies(const Flags& flags);

}  // namespace nutshell::cli
