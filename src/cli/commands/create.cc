#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/daemon_choice.h"
#include "cli/flags.h"
#include "cli/print.h"
#include "cli/sandbox_choice.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  ID=$(nutshell create)
  nutshell create --memory 2g --ttl 1h --label project=demo
  nutshell create --workspace . --name work    this directory, copy-on-write
  nutshell create --from $ID                   after it has ended
  nutshell exec $ID -- uname -a
  nutshell destroy $ID

The sandbox lives until --ttl is over, it was idle for --idle-timeout, or you destroy it. The changes in
its --workspace are saved then: 'nutshell list --ended' shows them, and --from goes on with them.)";

struct CreateFlags {
  Flags sandbox;
  std::string name;
  std::string from;
};

Result<std::string> create_from(Program& program, const CreateFlags& flags) {
  if (flags.sandbox.text("workspace")) {
    return failure(ErrorCode::InvalidArgument,
                   "--from goes on in the directory of the ended sandbox: leave --workspace out");
  }
  if (program.runtime.find(flags.from)) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("sandbox {0} has not ended: 'nutshell fork {0}' makes another one "
                               "with its files",
                               flags.from));
  }
  const saved::SavedWorkspace saved = TRY(find_saved(TRY(chosen_sandbox(program, flags.from))));
  SandboxSpec spec = TRY(to_spec(flags.sandbox, saved.sandbox.spec));
  if (!flags.name.empty()) spec.labels[kNameLabel] = flags.name;
  spec.environment = TRY(environment_of(flags.sandbox));
  return create_from_saved(program.runtime, spec, saved);
}

Result<std::string> create_new(Program& program, const CreateFlags& flags) {
  SandboxSpec spec = TRY(to_spec(flags.sandbox));
  if (!flags.name.empty()) spec.labels[kNameLabel] = flags.name;
  spec.environment = TRY(environment_of(flags.sandbox));
  return program.runtime.create(spec);
}

Result<int> create(Program& program, const CreateFlags& all) {
  const Flags& flags = all.sandbox;
  if (!all.name.empty()) TRY(check_new_name(program, all.name));
  const std::string id =
      TRY(all.from.empty() ? create_new(program, all) : create_from(program, all));
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
  auto flags = std::make_shared<CreateFlags>();
  add_sandbox_flags(command, flags->sandbox);
  for (const char* flag : {"env", "workdir", "cpu-time"})
    add_sandbox_flag(command, flags->sandbox, flag).group("Sandbox");
  command.add_option("--name", flags->name, "A name for it, which other commands take like its id")
      .group("Sandbox");
  command
      .add_option("--from", flags->from,
                  "Go on with the saved changes of this sandbox, which has ended")
      .group("Sandbox");
  command.add_flag("--json", flags->sandbox.is_json, "Print a JSON object").group("Sandbox");
  command.footer(kExamples);
  command.callback([flags, &program] {
    program.chosen = [flags, &program]() -> Result<int> {
      TRY(read_config(flags->sandbox));
      TRY(choose_daemon_of_config(program, flags->sandbox.text("daemon").value_or("")));
      return create(program, *flags);
    };
  });
}

}  // namespace nutshell::cli
