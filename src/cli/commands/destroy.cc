#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/report.h"

namespace nutshell::cli {

void add_destroy(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("destroy", "End sandboxes and all their processes").alias("rm");
  auto ids = std::make_shared<std::vector<std::string>>();
  command.add_option("ID", *ids, "The sandboxes").required();
  command.footer(
      "Examples:\n  nutshell destroy n3f9c0a1b2c3d\n  nutshell destroy $(nutshell list -q)");
  command.callback([ids, &program] {
    program.chosen = [ids, &program]() -> Result<int> {
      int status = 0;
      for (const std::string& id : *ids) {
        auto destroyed = program.runtime.destroy(id);
        if (destroyed) continue;
        print_error(destroyed.error().message);  // the others are still destroyed
        status = kOurError;
      }
      return status;
    };
  });
}

}  // namespace nutshell::cli
