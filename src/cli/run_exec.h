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

}  // namespace nutshell::cli
