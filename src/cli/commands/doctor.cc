#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "backends/registry.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/status_text.h"
#include "core/json_form.h"

namespace nutshell::cli {
namespace {

struct DoctorFlags {
  std::string backend = backend_registry().front().name;
  bool is_json = false;
};

Result<int> doctor(Program& program, const DoctorFlags& flags) {
  const Protections protections = TRY(program.runtime.probe(flags.backend));
  const auto is_whole = [](const Protection& protection) {
    return protection.name != "sandbox" || protection.strength == Strength::Hard;
  };
  const bool works = std::all_of(protections.begin(), protections.end(), is_whole);
  if (flags.is_json) {
    print_json(nlohmann::ordered_json{
        {"backend", flags.backend}, {"works", works}, {"protections", to_json(protections)}});
    return works ? 0 : 1;
  }
  print_protections(protections);
  const bool is_watched =
      std::any_of(protections.begin(), protections.end(), [](const Protection& protection) {
        return protection.strength == Strength::Watched && !protection.fix.empty();
      });
  if (!works) {
    print_out("\nThe default sandbox does not work here; the lines above say why.\n");
  } else if (is_watched) {
    print_out(
        "\nThe default sandbox works. To refuse a limit that is only watched, use for example "
        "--require memory=hard\n");
  } else {
    print_out("\nThe default sandbox works, with every protection.\n");
  }
  return works ? 0 : 1;
}

}  // namespace

void add_doctor(const CommandLine& app, Program& program) {
  const CommandLine command = app.add_command(
      "doctor", "Try each protection on this machine, and say how to fix what fails");
  auto flags = std::make_shared<DoctorFlags>();
  command.add_option("--backend", flags->backend, "The backend to try");
  command.add_flag("--json", flags->is_json, "Print a JSON object");
  command.footer("Exit status: 0 if the default sandbox works here, else 1.");
  command.callback([flags, &program] {
    program.chosen = [flags, &program] { return doctor(program, *flags); };
  });
}

}  // namespace nutshell::cli
