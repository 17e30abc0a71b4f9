#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/print.h"

namespace nutshell::cli {
namespace {

struct GcFlags {
  bool is_dry = false;
  bool is_json = false;
};

Result<int> gc(Program& program, const GcFlags& flags) {
  const SweepReport report =
      program.runtime.sweep(flags.is_dry ? SweepMode::DryRun : SweepMode::Remove);
  if (flags.is_json) {
    print_json(nlohmann::ordered_json{
        {"dry_run", flags.is_dry}, {"removed", report.removed}, {"failed", report.failed}});
    return report.failed.empty() ? 0 : 1;
  }
  for (const std::string& item : report.removed) {
    print_out("{} {}\n", flags.is_dry ? "would remove" : "removed", item);
  }
  for (const std::string& item : report.failed)
    print_out("could not remove {}\n", item);
  if (report.removed.empty() && report.failed.empty()) print_out("nothing is left over\n");
  return report.failed.empty() ? 0 : 1;
}

}  // namespace

void add_gc(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("gc", "Remove what crashed processes of Nutshell left behind");
  auto flags = std::make_shared<GcFlags>();
  command.add_flag("--dry-run", flags->is_dry, "Only list what would be removed");
  command.add_flag("--json", flags->is_json, "Print a JSON object");
  command.footer(
      "Never touches running sandboxes. The first 'nutshell create' after a crash also does this.");
  command.callback(
      [flags, &program] { program.chosen = [flags, &program] { return gc(program, *flags); }; });
}

}  // namespace nutshell::cli
