#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/sandbox_choice.h"
#include "runtime/workspace.h"

namespace nutshell::cli {
namespace {

struct StateFlags {
  std::string id;
  std::string checkpoint;
  bool kills = false;
  bool is_json = false;
};

Running running_of(const StateFlags& flags) {
  return flags.kills ? Running::Killed : Running::Refused;
}

void add_kill(const CommandLine& command, StateFlags& flags) {
  command.add_flag("--kill", flags.kills,
                   "Kill all processes in it first; without this, running processes are an error");
}

}  // namespace

void add_checkpoint(const CommandLine& app, Program& program) {
  const CommandLine command = app.add_command(
      "checkpoint", "Save the files of /workspace; prints the name of the checkpoint");
  auto flags = std::make_shared<StateFlags>();
  command.add_option("ID", flags->id, kSandboxHelp);
  command.add_flag("--json", flags->is_json, "Print a JSON object");
  add_kill(command, *flags);
  command.footer(
      "Examples:\n  C=$(nutshell checkpoint $ID)\n  nutshell rollback $ID $C\n\nSaves files "
      "only, neither processes nor /tmp.");
  command.callback([flags, &program] {
    program.chosen = [flags, &program]() -> Result<int> {
      const std::string id = TRY(chosen_sandbox(program, flags->id));
      const std::string name = TRY(checkpoint_workspace(program.runtime, id, running_of(*flags)));
      if (flags->is_json) {
        print_json(nlohmann::ordered_json{{"id", id}, {"checkpoint", name}});
      } else {
        print_out("{}\n", name);
      }
      return 0;
    };
  });
}

void add_rollback(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("rollback", "Restore the files of /workspace from a checkpoint");
  auto flags = std::make_shared<StateFlags>();
  command.add_option("ID", flags->id, "The sandbox").required();
  command.add_option("CHECKPOINT", flags->checkpoint, "Name that 'nutshell checkpoint' printed")
      .required();
  add_kill(command, *flags);
  command.footer("Examples:\n  nutshell rollback $ID c1\n  nutshell rollback $ID c1 --kill");
  command.callback([flags, &program] {
    program.chosen = [flags, &program]() -> Result<int> {
      const std::string id = TRY(chosen_sandbox(program, flags->id));
      TRY(rollback_workspace(program.runtime, id, flags->checkpoint, running_of(*flags)));
      return 0;
    };
  });
}

void add_discard(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("discard", "Undo all changes of a sandbox in /workspace");
  auto flags = std::make_shared<StateFlags>();
  command.add_option("ID", flags->id, kSandboxHelp);
  add_kill(command, *flags);
  command.footer("Examples:\n  nutshell discard $ID\n  nutshell discard $ID --kill");
  command.callback([flags, &program] {
    program.chosen = [flags, &program]() -> Result<int> {
      const std::string id = TRY(chosen_sandbox(program, flags->id));
      TRY(rollback_workspace(program.runtime, id, kBaseCheckpoint, running_of(*flags)));
      return 0;
    };
  });
}

}  // namespace nutshell::cli
