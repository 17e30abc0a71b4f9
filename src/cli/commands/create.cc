#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/daemon_choice.h"
#include "cli/flags.h"
#include "cli/print.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  ID=$(nutshell create)
  nutshell create --memory 2g --ttl 1h --label project=demo
  nutshell exec $ID -- uname -a
  nutshell destroy $ID

The sandbox lives until its ttl ends, it is destroyed, or it was idle for --idle-timeout.)";

Result<int> create(Program& program, const Flags& flags) {
  SandboxSpec spec = TRY(to_spec(flags));
  spec.environment = flags.environment;
  const std::string id = TRY(program.runtime.create(spec));
  if (flags.is_json) {
    print_json(nlohmann::json{{"id", id}});
  } else {
    print_out("{}\n", id);
  }
  return 0;
}

}  // namespace

void add_create(const CommandLine& app, Program& program) {
  const CommandLine command = app.add_command("create", "Make a sandbox that stays; prints its id");
  auto flags = std::make_shared<Flags>();
  add_sandbox_flags(command, *flags);
  command.add_option("-e,--env", flags->environment, "NAME=VALUE for every command in it")
      .group("Sandbox");
  command.add_option("-w,--workdir", flags->workdir, "Directory commands run in (/workspace)")
      .group("Sandbox");
  command.add_option("--cpu-time", flags->cpu_time, "CPU seconds of any one process (300s)")
      .group("Sandbox");
  command.add_flag("--json", flags->is_json, "Print a JSON object").group("Sandbox");
  command.footer(kExamples);
  command.callback([flags, &program] {
    program.chosen = [flags, &program]() -> Result<int> {
      TRY(read_config(*flags));
      TRY(choose_daemon_of_config(program, flags->daemon.value_or("")));
      return create(program, *flags);
    };
  });
}

}  // namespace nutshell::cli
