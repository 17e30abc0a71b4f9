#include <memory>

#include "cli/command.h"
#include "cli/sandbox_choice.h"

namespace nutshell::cli {

void add_pause(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("pause", "Stop all processes of a sandbox until it is resumed");
  auto id = std::make_shared<std::string>();
  command.add_option("ID", *id, kSandboxHelp);
  command.footer(
      "Its ttl stops too. A sandbox that stays paused for a day ends.\n\nExample:\n  nutshell "
      "pause "
      "$ID; nutshell resume $ID");
  command.callback([id, &program] {
    program.chosen = [id, &program]() -> Result<int> {
      TRY(program.runtime.pause(TRY(chosen_sandbox(program, *id))));
      return 0;
    };
  });
}

}  // namespace nutshell::cli
