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

The sandbox lives until --ttl is over, it was idle for --idle-timeout, or you destroy it.)";

Result<int> create(Program& program, const Flags& flags) {
  SandboxSpec spec = TRY(to_spec(flags));
  spec.environment = TRY(environment_of(flags));
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
  const CommandLine command =
      app.add_command("create", "Make a sandbox for many commands; prints its id");
  auto flags = std::make_shared<Flags>();
  add_sandbox_flags(command, *flags);
  for (const char* flag : {"env", "workdir", "cpu-time"})
    add_sandbox_flag(command, *flags, flag).group("Sandbox");
  command.add_flag("--json", flags->is_json, "Print a JSON object").group("Sandbox");
  command.footer(kExamples);
  command.callback([flags, &program] {
    program.chosen = [flags, &program]() -> Result<int> {
      TRY(read_config(*flags));
      TRY(choose_daemon_of_config(program, flags->text("daemon").value_or("")));
      return create(program, *flags);
    };
  });
}

}  // namespace nutshell::cli
