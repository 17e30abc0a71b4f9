#include <memory>

#include "cli/command.h"
#include "cli/sandbox_choice.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  nutshell pause $ID                            stops all its processes
  nutshell resume $ID)";

}  // namespace

void add_resume(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("resume", "Let the processes of a paused sandbox run again");
  command.footer(kExamples);
  auto id = std::make_shared<std::string>();
  command.add_option("ID", *id, kSandboxHelp);
  command.callback([id, &program] {
    program.chosen = [id, &program]() -> Result<int> {
      TRY(program.runtime.resume(TRY(chosen_sandbox(program, *id))));
      return 0;
    };
  });
}

}  // namespace nutshell::cli
