// Runs an exec with our own streams, or captured for JSON, and tells how it ended.
#pragma once

#include <functional>

#include "cli/flags.h"
#include "core/exec.h"
#include "wire/exec_io.h"

namespace nutshell::cli {

using ExecRunner = std::function<Result<ExecResult>(wire::ExecIo&)>;

// The exit status of our process.
Result<int> run_and_report(const Flags& flags, const ExecRequest& request, const ExecRunner& run);

// The same for one that has more to do when the command has ended: it calls the reporter first.
using ExecReporter = std::function<void(const ExecResult&)>;
using ReportingRunner = std::function<Result<ExecResult>(wire::ExecIo&, const ExecReporter&)>;
Result<int> run_and_report_early(const Flags& flags, const ExecRequest& request,
                                 const ReportingRunner& run);

}  // namespace nutshell::cli
