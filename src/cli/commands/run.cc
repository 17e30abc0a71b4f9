#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/daemon_choice.h"
#include "cli/flags.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/run_exec.h"
#include "cli/sandbox_choice.h"
#include "core/workspace_volume.h"
#include "runtime/copy.h"
#include "runtime/kept_command.h"
#include "runtime/workspace_changes.h"

namespace nutshell::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kDetachedTime = 24h;                     // of a command that names no other
constexpr auto kDetachedRest = 10min;                   // how long its sandbox stays after its end
constexpr std::uint64_t kDetachedOutput = 1ULL << 40U;  // what is kept of it has a bound of its own

constexpr const char* kExamples = R"(Examples:
  nutshell run -- python3 -c 'print(2 ** 100)'
  nutshell run --memory 1g --timeout 2m -- make -j2
  echo 'some data' | nutshell run -i -- wc -c
  nutshell run -it -- bash                      an interactive shell
  nutshell run --json -- ls -l /                one JSON object for programs
  nutshell run --workspace . -- make test       this directory, copy-on-write
  nutshell run --copy job.py -- python3 job.py  this file alone
  nutshell run --image ./debian.tar -- cat /etc/os-release
  nutshell run --allow pypi -- pip install rich the hosts of this list, and no other
  nutshell run --detach --workspace . -- make   goes on without you; 'nutshell logs ID' shows its output

The command has its own /workspace and /tmp, a read-only system, no host files, and no network but what
--allow names.
Its exit status is passed on. 124: timed out; 125: nutshell failed; 126: cannot be run; 127: not found;
137: out of memory; 153: output limit; 128+n: ended by signal n.)";

Result<> copy_all(wire::InitClient& client, const std::vector<Copied>& copies) {
  for (const Copied& one : copies)
    report_skipped(TRY(copy_in(client, one.source, one.target)));
  return {};
}

// After a failure: names a file of the command line that is here and not in the sandbox.
void hint_at_files(const Flags& flags) {
  if (flags.is_json || flags.text("workspace") || !flags.list("copy").empty()) return;
  for (const std::string& word : flags.command) {
    const bool is_name = !word.empty() && word[0] != '-' && word[0] != '/';
    if (!is_name || ::access(word.c_str(), F_OK) != 0) continue;
    return print_error(
        fmt::format("'{0}' is in this directory, which the sandbox does not see: "
                    "add --copy '{0}', or --workspace .",
                    word));
  }
}

void report_discarded(std::size_t count) {
  print_error(
      fmt::format("the changes to {} files ended with the sandbox; to keep changes, use 'nutshell "
                  "create --workspace', 'exec' and 'apply'",
                  count));
}

struct RunFlags {
  Flags sandbox;
  bool is_detached = false;
  std::string name;
};

// Lives as long as its command may take, and for a while after its end, so that its output can be
// read.
Result<SandboxSpec> detached_spec(const RunFlags& all, ExecLimits& limits) {
  const Flags& flags = all.sandbox;
  SandboxSpec spec = TRY(to_spec(flags));
  if (!flags.text("ttl")) {
    spec.ttl = kDetachedTime;
    if (flags.text("timeout")) spec.ttl = limits.timeout + kDetachedRest;
  }
  if (!flags.text("idle-timeout")) spec.idle_timeout = kDetachedRest;
  if (!flags.text("timeout")) limits.timeout = spec.ttl;
  if (!flags.text("cpu-time")) limits.cpu_time = limits.timeout;
  if (!flags.text("output-limit")) limits.output_bytes = kDetachedOutput;
  spec.limits.cpu_time = limits.cpu_time;
  if (!all.name.empty()) spec.labels[kNameLabel] = all.name;
  return spec;
}

Result<int> run_detached(Program& program, const RunFlags& all) {
  const Flags& flags = all.sandbox;
  if (flags.has_input || flags.has_terminal) {
    return failure(ErrorCode::InvalidArgument,
                   "a command with --detach has neither your terminal nor your input: leave -i and "
                   "-t out");
  }
  if (!all.name.empty()) TRY(check_new_name(program, all.name));
  KeptCommand command{TRY(to_exec(flags)), {}};
  const SandboxSpec spec = TRY(detached_spec(all, command.request.limits));
  for (const std::string& word : flags.command)
    command.shown += (command.shown.empty() ? "" : " ") + word;
  const std::vector<Copied> copies = TRY(to_copies(flags));
  std::string job;
  const std::string id = TRY(program.runtime.create(spec, [&](const std::string& made) -> Result<> {
    TRY(program.runtime.with_init(
        made, [&](wire::InitClient& client) { return copy_all(client, copies); }));
    job = TRY(start_kept_command(program.runtime, made, command));
    return {};
  }));
  if (flags.is_json) {
    print_json(nlohmann::json{{"id", id}, {"job", job}});
  } else {
    print_out("{}\n", id);
  }
  return 0;
}

Result<int> run(Program& program, const Flags& flags) {
  SandboxSpec spec = TRY(to_spec(flags));
  const ExecRequest request = TRY(to_exec(flags));
  spec.limits.cpu_time = request.limits.cpu_time;
  // Without --ttl, the sandbox lives as long as its command may take.
  if (!flags.text("ttl"))
    spec.ttl = std::max(spec.ttl, request.limits.timeout + std::chrono::seconds(10));
  // A terminal without --timeout asks for more than a daemon grants by default.
  if (program.runtime.context().daemon && !flags.text("ttl") && !flags.text("timeout"))
    spec.ttl = std::min<std::chrono::milliseconds>(spec.ttl, std::chrono::hours(24));
  std::size_t discarded = 0;
  const auto count_changes = [&](wire::InitClient& client) {
    const auto changes = list_workspace_changes(client);
    if (changes) discarded = changes->size();
  };
  Runtime::RunHooks hooks;
  if (!spec.workspace.empty() && !is_volume(spec.workspace)) hooks.after = count_changes;
  const std::vector<Copied> copies = TRY(to_copies(flags));
  if (!copies.empty())
    hooks.before = [&copies](wire::InitClient& client) { return copy_all(client, copies); };
  return run_and_report_early(flags, request, [&](wire::ExecIo& io, const ExecReporter& report) {
    hooks.ended = [&](const ExecResult& result) {
      report(result);
      if (result.outcome == Outcome::Exited && result.exit_code != 0) hint_at_files(flags);
      if (discarded > 0) report_discarded(discarded);
    };
    return program.runtime.run(spec, request, io, hooks);
  });
}

}  // namespace

void add_run(const CommandLine& app, Program& program) {
  const CommandLine command = app.add_command("run", "Run one command in a sandbox of its own");
  auto all = std::make_shared<RunFlags>();
  Flags& flags = all->sandbox;
  add_sandbox_flags(command, flags);
  add_exec_flags(command, flags);
  add_copy_flag(command, flags);
  command
      .add_flag("-d,--detach", all->is_detached,
                "Print the id of its sandbox and return; the command goes on")
      .group("Command");
  command.add_option("--name", all->name, "With --detach: a name for the sandbox").group("Sandbox");
  command.footer(kExamples);
  command.callback([all, &program] {
    program.chosen = [all, &program]() -> Result<int> {
      Flags& given = all->sandbox;
      given.command = program.command;
      TRY(read_config(given));
      if (all->is_detached) TRY(choose_daemon(program, OwnDaemon::Used));
      TRY(choose_daemon_of_config(program, given.text("daemon").value_or("")));
      if (all->is_detached) return run_detached(program, *all);
      if (all->name.empty()) return run(program, given);
      return failure(ErrorCode::InvalidArgument,
                     "--name: a sandbox that ends with its command needs no name; --detach lets it "
                     "live on");
    };
  });
}

}  // namespace nutshell::cli
