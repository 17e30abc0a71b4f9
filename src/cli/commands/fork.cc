#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/sandbox_choice.h"
#include "runtime/workspace.h"

namespace nutshell::cli {
namespace {

struct ForkFlags {
  std::string id;
  unsigned count = 1;
  bool is_json = false;
};

Result<int> fork(Program& program, const ForkFlags& flags) {
  const std::string id = TRY(chosen_sandbox(program, flags.id));
  nlohmann::ordered_json made = nlohmann::ordered_json::array();
  for (unsigned i = 0; i < flags.count; ++i) {
    const std::string fork = TRY(fork_sandbox(program.runtime, id));
    if (!flags.is_json) print_out("{}\n", fork);
    made.push_back({{"id", fork}});
  }
  if (flags.is_json) {
    print_json(nlohmann::ordered_json{{"from", id}, {"forks", made}});
    return 0;
  }
  print_error("files of /workspace were copied; processes and /tmp were not");
  return 0;
}

}  // namespace

void add_fork(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("fork", "Make copies of a sandbox, with the same files in /workspace");
  auto flags = std::make_shared<ForkFlags>();
  command.add_option("ID", flags->id, kSandboxHelp);
  command.add_flag("--json", flags->is_json, "Print a JSON object");
  command.add_option("-n", flags->count, "How many copies (1)").is_between(1U, 1000U);
  command.footer(
      "Examples:\n  nutshell fork $ID\n  nutshell fork $ID -n 4\n\nPrints the ids of the copies. "
      "Processes are not copied.");
  command.callback(
      [flags, &program] { program.chosen = [flags, &program] { return fork(program, *flags); }; });
}

}  // namespace nutshell::cli
