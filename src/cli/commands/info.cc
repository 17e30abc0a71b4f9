#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/byte_size.h"
#include "cli/command.h"
#include "cli/daemon_choice.h"
#include "cli/flags.h"
#include "cli/print.h"
#include "cli/sandbox_choice.h"
#include "cli/status_text.h"
#include "core/json_form.h"
#include "core/workspace_volume.h"
#include "runtime/toolchains.h"

namespace nutshell::cli {
namespace {

void print_host_directories(const SandboxStatus& status) {
  const SandboxSpec& spec = status.spec;
  if (is_volume(spec.workspace)) {
    print_out("workspace {}: written directly, and kept when the sandbox ends\n", spec.workspace);
  } else if (!spec.workspace.empty()) {
    print_out("workspace {}: {}; only 'nutshell apply' writes to it\n", spec.workspace,
              status.why_copied.empty() ? "copy-on-write layers (overlay) over it"
                                        : fmt::format("copied ({})", status.why_copied));
  }
  for (const Mount& mount : spec.mounts) {
    print_out("mount    {}{}, read-only\n", mount.source,
              mount.source == mount.target ? "" : " at " + mount.target);
  }
  for (const UnsafeMount& mount : spec.unsafe_mounts) {
    print_out("unsafe   {} at {}, the host's own directory{}\n", mount.source, mount.target,
              mount.access == UnsafeMount::Access::ReadOnly ? ", read-only" : "");
  }
  if (!is_without_directories(spec)) print_out("\n");
}

// Shows what a new sandbox would have.
Result<int> info_of_defaults(Program& program, const Flags& flags) {
  const SandboxSpec spec = TRY(to_spec(flags));
  const Protections protections = TRY(program.runtime.check(spec));
  if (flags.is_json) {
    print_json(
        nlohmann::ordered_json{{"backend", spec.backend}, {"protections", to_json(protections)}});
    return 0;
  }
  print_out("A sandbox started here with these flags: {}\n\n", summary_of(spec));
  SandboxStatus status;
  status.spec = spec.toolchains == Toolchains::Auto ? with_toolchains(spec, this_user()) : spec;
  print_host_directories(status);
  print_protections(protections);
  return 0;
}

Result<int> info(Program& program, const std::string& id, const Flags& flags) {
  if (id.empty()) return info_of_defaults(program, flags);
  const SandboxStatus status = TRY(program.runtime.find(TRY(chosen_sandbox(program, id))));
  if (flags.is_json) {
    nlohmann::ordered_json object = to_json(status);
    object["protections"] = to_json(status.protections);
    print_json(object);
    return 0;
  }
  print_out(
      "id       {}\nbackend  {}\nimage    {}\nstate    {}\nage      {}\nleft     {} of {}\nlimits  "
      " {}\n\n",
      status.id, status.spec.backend,
      status.spec.image.empty() ? "this machine's /usr" : status.spec.image,
      status.state == SandboxState::Paused ? "paused" : "running",
      format_duration(std::chrono::duration_cast<std::chrono::seconds>(status.age)),
      format_duration(std::chrono::duration_cast<std::chrono::seconds>(status.time_left)),
      format_duration(status.spec.ttl), summary_of(status.spec));
  print_host_directories(status);
  print_protections(status.protections);
  return 0;
}

}  // namespace

void add_info(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("info", "Show a sandbox, and which protections it has");
  auto flags = std::make_shared<Flags>();
  auto id = std::make_shared<std::string>();
  command.add_option("ID", *id, "The sandbox; without it, show what a new one would have");
  add_sandbox_flags(command, *flags);
  command.add_flag("--json", flags->is_json, "Print a JSON object");
  command.footer(
      "Examples:\n  nutshell info\n  nutshell info --require memory=hard\n  nutshell info $ID "
      "--json");
  command.callback([flags, id, &program] {
    program.chosen = [flags, id, &program]() -> Result<int> {
      TRY(read_config(*flags));
      TRY(choose_daemon_of_config(program, flags->text("daemon").value_or("")));
      return info(program, *id, *flags);
    };
  });
}

}  // namespace nutshell::cli
