#include <memory>

#include "cli/command.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  nutshell pause $ID                            nothing in it runs any more
  nutshell resume $ID)";

}  // namespace

void add_resume(const CommandLine& app, Program& program) {
  const CommandLine command = app.add_command("resume", "Let a paused sandbox go on");
  command.footer(kExamples);
  auto id = std::make_shared<std::string>();
  command.add_option("ID", *id, "Which one").required();
  command.callback([id, &program] {
    program.chosen = [id, &program]() -> Result<int> {
      TRY(program.runtime.resume(*id));
      return 0;
    };
  });
}

}  // namespace nutshell::cli
