#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/print.h"
#include "wire/schema.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  nutshell version
  nutshell version --json                       for programs)";

}  // namespace

void add_version(const CommandLine& app, Program& program) {
  const CommandLine command = app.add_command("version", "Print the version");
  command.footer(kExamples);
  auto is_json = std::make_shared<bool>(false);
  command.add_flag("--json", *is_json, "Print a JSON object");
  command.callback([is_json, &program] {
    program.chosen = [is_json]() -> Result<int> {
      if (*is_json) {
        print_json(nlohmann::ordered_json{{"version", NUTSHELL_VERSION}, {"wire", wire::kVersion}});
      } else {
        print_out("nutshell {}\n", NUTSHELL_VERSION);
      }
      return 0;
    };
  });
}

}  // namespace nutshell::cli
