#include "cli/run_exec.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/report.h"
#include "cli/terminal_io.h"

namespace nutshell::cli {

Result<int> run_and_report_early(const Flags& flags, const ExecRequest& request,
                                 const ReportingRunner& run) {
  if (flags.is_json) {
    CapturingIo io(request);
    Result<> printed;
    const ExecResult result = TRY(run(io, [&](const ExecResult& ended) {
      print_json(ended, io);
      if (std::fflush(stdout) != 0) printed = syscall_failure("write the output");
    }));
    TRY(printed);
    return exit_status(result);
  }
  TerminalIo io(request);
  const ExecResult result = TRY(run(io, [&](const ExecResult& ended) {
    io.restore_terminal();  // a raw terminal would garble the message
    explain_end(ended);
    if (request.terminal == Terminal::Pty && ended.outcome != Outcome::Exited) {
      print_error("the sandbox's terminal is closed: what you type now is for this machine");
    }
  }));
  if (io.write_error().empty()) return exit_status(result);
  return failure(ErrorCode::Internal,
                 fmt::format("the output could not be written: {}", io.write_error()));
}

Result<int> run_and_report(const Flags& flags, const ExecRequest& request, const ExecRunner& run) {
  return run_and_report_early(flags, request, [&run](wire::ExecIo& io, const ExecReporter& report) {
    auto result = run(io);
    if (result) report(*result);
    return result;
  });
}

}  // namespace nutshell::cli
