#include "cli/run_exec.h"

#include <fmt/format.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/report.h"
#include "cli/terminal_io.h"

namespace nutshell::cli {
namespace {

// A command that failed and names a file that is here, and not in the sandbox.
void hint_at_workspace(const Flags& flags, const ExecRequest& request, const ExecResult& result) {
  const bool has_failed = result.outcome == Outcome::Exited && result.exit_code != 0;
  if (!has_failed || flags.workspace) return;
  for (const std::string& word : request.argv) {
    const bool is_name = !word.empty() && word[0] != '-' && word[0] != '/';
    const bool is_here = is_name && ::access(word.c_str(), F_OK) == 0;
    if (!is_here) continue;
    return print_error(fmt::format(
        "'{}' is in this directory, which the sandbox does not see: add --workspace .", word));
  }
}

}  // namespace

Result<int> run_and_report(const Flags& flags, const ExecRequest& request, const ExecRunner& run) {
  if (flags.is_json) {
    CapturingIo io;
    const ExecResult result = TRY(run(io));
    print_json(result, io);
    return exit_status(result);
  }
  ExecResult result;
  std::string write_error;
  {
    TerminalIo io(request);
    result = TRY(run(io));
    write_error = io.write_error();
  }  // the terminal is as it was before anything is said
  explain_end(result);
  hint_at_workspace(flags, request, result);
  if (write_error.empty()) return exit_status(result);
  return failure(ErrorCode::Internal,
                 fmt::format("the output could not be written: {}", write_error));
}

}  // namespace nutshell::cli
