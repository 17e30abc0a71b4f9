#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/sandbox_choice.h"
#include "core/json_form.h"
#include "runtime/kept_command.h"

namespace nutshell::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kExamples = R"(Examples:
  ID=$(nutshell run --detach -- sh -c 'for i in 1 2 3; do echo $i; sleep 1; done')
  nutshell logs $ID             what it has printed so far
  nutshell logs -f $ID          and what it prints, until it ends
  nutshell logs --job j2        another job in the sandbox of this directory

A job is a command that goes on without its caller: of 'nutshell run --detach', or of the tool bash. Up to
16 MiB of each stream are kept, until the sandbox ends.)";

constexpr auto kBetweenLooks = 300ms;

struct LogFlags {
  std::string id;
  std::string job;
  bool follows = false;
  bool is_json = false;
};

Result<> print_both(const std::string& output, const std::string& error) {
  print_bytes(output);
  if (std::fflush(stdout) != 0) return syscall_failure("write the output");
  return write_all(STDERR_FILENO, error);
}

Result<int> logs(Program& program, const LogFlags& flags) {
  const std::string id = TRY(chosen_sandbox(program, flags.id));
  JobLog log = TRY(look_at_job(program.runtime, id, flags.job, 0ms));
  if (flags.is_json) {
    nlohmann::ordered_json object{{"command", log.state.shown},
                                  {"running", !log.state.ending.has_value()},
                                  {"stdout", whole_text(log.stored.output)},
                                  {"stderr", whole_text(log.stored.error)}};
    if (log.state.ending) object["result"] = to_json(*log.state.ending);
    print_json(object);
    return 0;
  }
  TRY(print_both(whole_text(log.stored.output), whole_text(log.stored.error)));
  const std::string job = log.state.job_id;
  while (flags.follows && !log.state.ending) {
    log = TRY(look_at_job(program.runtime, id, job, kBetweenLooks));
    TRY(print_both(log.state.output, log.state.error));
  }
  if (log.state.ending) explain_end(*log.state.ending);
  return 0;
}

}  // namespace

void add_logs(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("logs", "Print what a command in the background has printed");
  auto flags = std::make_shared<LogFlags>();
  command.add_option("ID", flags->id, kSandboxHelp);
  command.add_option("--job", flags->job, "The job, such as j1 (the newest)");
  command.add_flag("-f,--follow", flags->follows, "Go on until the command ends");
  command.add_flag("--json", flags->is_json, "Print one JSON object");
  command.footer(kExamples);
  command.callback(
      [flags, &program] { program.chosen = [flags, &program] { return logs(program, *flags); }; });
}

}  // namespace nutshell::cli
