// Commands that go on without a caller, for people: the same jobs as those of the tools.
#pragma once

#include <chrono>
#include <string>

#include "runtime/runtime.h"
#include "tools/stored_output.h"
#include "tools/tool_context.h"

namespace nutshell {

// Starts the command in the sandbox and returns at once, with the id of the job. A command that is
// not found or cannot be run is an error.
struct KeptCommand {
  ExecRequest request;
  std::string shown;
};
Result<std::string> start_kept_command(Runtime& runtime, const std::string& sandbox,
                                       const KeptCommand& command);

struct JobLog {
  CommandState state;   // `output` and `error` are those since the last look
  StoredOutput stored;  // all that is kept
};
// Waits this long for the job's end. NotFound if there is no such job; an empty id names the
// newest.
Result<JobLog> look_at_job(Runtime& runtime, const std::string& sandbox, const std::string& job,
                           std::chrono::milliseconds wait);

}  // namespace nutshell
