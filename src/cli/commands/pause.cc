#include <memory>

#include "cli/command.h"

namespace nutshell::cli {

void add_pause(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("pause", "Stop everything in a sandbox where it stands");
  auto id = std::make_shared<std::string>();
  command.add_option("ID", *id, "Which one").required();
  command.footer(
      "Its ttl stands still meanwhile, for a day at most. Example:\n  nutshell pause $ID; nutshell "
      "resume $ID");
  command.callback([id, &program] {
    program.chosen = [id, &program]() -> Result<int> {
      TRY(program.runtime.pause(*id));
      return 0;
    };
  });
}

}  // namespace nutshell::cli
