// The flags that describe a sandbox and an exec, from the command line or a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "core/exec.h"
#include "core/sandbox_spec.h"

namespace nutshell::cli {

// As given, not yet understood. A list that is empty was not given.
struct Flags {
  std::optional<std::string> backend, image, runtime, memory, cpus, pids, disk, open_files,
      cpu_time, timeout, ttl, idle_timeout, output_limit, workdir, workspace, workspace_mode,
      daemon;
  std::vector<std::string> environment, labels, requirements, unsafe_without, unsafe_mounts, copies;
  std::string config;
  bool has_input = false;
  bool has_terminal = false;
  bool is_json = false;
  std::vector<std::string> command;  // what stands behind the flags
};

void add_sandbox_flags(const CommandLine& command, Flags& flags);
void add_exec_flags(const CommandLine& command, Flags& flags);
// For the commands that make a sandbox and run in it.
void add_copy_flag(const CommandLine& command, Flags& flags);

// What was not given on the command line is taken from --config.
Result<> read_config(Flags& flags);

Result<SandboxSpec> to_spec(const Flags& flags);
Result<ExecRequest> to_exec(const Flags& flags);
// A path here, and where it goes inside.
struct Copied {
  std::string source;
  std::string target;
};
Result<std::vector<Copied>> to_copies(const Flags& flags);

}  // namespace nutshell::cli
