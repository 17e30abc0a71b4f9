#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "backends/registry.h"
#include "base/apparmor.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/print.h"
#include "cli/status_text.h"
#include "core/json_form.h"

namespace nutshell::cli {
namespace {

struct DoctorFlags {
  std::string backend = backend_registry().front().name;
  bool is_json = false;
  bool prints_profile = false;
};

// Shows what is missing first, and nothing that a sandbox which does not start would keep.
int report_broken(const std::string& backend, const Protections& protections) {
  Protections missing;
  for (const Protection& protection : protections)
    if (protection.strength != Strength::Hard) missing.push_back(protection);
  std::stable_partition(missing.begin(), missing.end(),
                        [](const Protection& one) { return one.name == "sandbox"; });
  print_out("No sandbox of {} can be made here:\n\n", backend);
  print_protections(missing);
  return 1;
}

Result<int> doctor(Program& program, const DoctorFlags& flags) {
  if (flags.prints_profile) {
    print_text(apparmor_profile(program.runtime.context().programs));
    return 0;
  }
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
  if (!works) return report_broken(flags.backend, protections);
  print_protections(protections);
  const bool is_watched =
      std::any_of(protections.begin(), protections.end(), [](const Protection& protection) {
        return protection.strength == Strength::Watched && !protection.fix.empty();
      });
  const bool is_default = flags.backend == DoctorFlags().backend;
  const std::string which = is_default ? "The default sandbox" : "A sandbox of " + flags.backend;
  if (is_watched) {
    print_out(
        "\n{} works. To refuse a limit that is only watched, use for example "
        "--require memory=hard\n",
        which);
  } else {
    print_out("\n{} works, with every protection.\n", which);
  }
  return 0;
}

}  // namespace

void add_doctor(const CommandLine& app, Program& program) {
  const CommandLine command = app.add_command(
      "doctor", "Try each protection on this machine, and say how to fix what fails");
  auto flags = std::make_shared<DoctorFlags>();
  command.add_option("--backend", flags->backend, "The backend to try")
      .shows_values(backend_names());
  command.add_flag("--json", flags->is_json, "Print a JSON object");
  command.add_flag("--apparmor-profile", flags->prints_profile,
                   "Print a profile with which AppArmor lets these programs make user namespaces");
  command.footer("Exit status: 0 if the default sandbox works here, else 1.");
  command.callback([flags, &program] {
    program.chosen = [flags, &program] { return doctor(program, *flags); };
  });
}

}  // namespace nutshell::cli
