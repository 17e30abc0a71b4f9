#include <memory>

#include "cli/command.h"
#include "cli/print.h"
#include "core/noun_catalogue.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  nutshell schema                               every noun of the API, as JSON
  nutshell schema | jq '.nouns[] | select(.name == "Limits") | .fields[].name'

For each field: its number in the proto, name, type, bounds, words, who may set it, its flag and one
line of help. Client libraries are generated from it. The daemon serves its OpenAPI document at
/v1/openapi.json; docs/api has both, and the proto of gRPC.)";

}  // namespace

void add_schema(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("schema", "Describe sandboxes, limits, execs and results for programs");
  command.footer(kExamples);
  command.callback([&program] {
    program.chosen = []() -> Result<int> {
      print_json_text(schema_text());
      return 0;
    };
  });
}

}  // namespace nutshell::cli
