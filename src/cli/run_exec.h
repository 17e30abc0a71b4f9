// Runs an exec with our standard streams, or captured for JSON, and reports how it ended.
#pragma once

#include <functional>

#include "cli/flags.h"
#include "core/exec.h"
#include "wire/exec_io.h"

namespace nutshell::cli {

using ExecRunner = std::function<Result<ExecResult>(wire::ExecIo&)>;

// Returns the exit status for our process.
Result<int> run_and_report(const Flags& flags, const ExecRequest& request, const ExecRunner& run);

// The same for a runner that calls the reporter itself, before it cleans up.
using ExecReporter = std::function<void(const ExecResult&)>;
using ReportingRunner = std::function<Result<ExecResult>(wire::ExecIo&, const ExecReporter&)>;
Result<int> run_and_report_early(const Flags& flags, const ExecRequest& request,
                                 const ReportingRunner& run);

}  // namespace nutshell::cli
