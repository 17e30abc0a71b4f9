#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/run_exec.h"
#include "cli/sandbox_choice.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  ID=$(nutshell create)
  nutshell exec $ID -- sh -c 'echo hello > note'
  nutshell exec $ID -- cat note                 files stay from one command to the next
  nutshell exec -it $ID -- bash
  nutshell exec -- make                         in the sandbox of this directory)";

Result<int> exec(Program& program, const std::string& id, const Flags& flags) {
  const ExecRequest request = TRY(to_exec(flags));
  const std::string chosen = TRY(chosen_sandbox(program, id));
  return run_and_report(
      flags, request, [&](wire::ExecIo& io) { return program.runtime.exec(chosen, request, io); });
}

}  // namespace

void add_exec(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("exec", "Run a command in a sandbox made with create");
  auto flags = std::make_shared<Flags>();
  auto id = std::make_shared<std::string>();
  command.add_option("ID", *id, kSandboxHelp);
  add_exec_flags(command, *flags);
  command.footer(kExamples);
  command.callback([flags, id, &program] {
    program.chosen = [flags, id, &program]() -> Result<int> {
      flags->command = program.command;
      return exec(program, *id, *flags);
    };
  });
}

}  // namespace nutshell::cli
