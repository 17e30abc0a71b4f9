#include "cli/run_exec.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/report.h"
#include "cli/terminal_io.h"

namespace nutshell::cli {

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
  if (write_error.empty()) return exit_status(result);
  return failure(ErrorCode::Internal,
                 fmt::format("the output could not be written: {}", write_error));
}

}  // namespace nutshell::cli
