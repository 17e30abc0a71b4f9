#include "runtime/kept_command.h"

#include "core/left_running.h"
#include "runtime/jobs.h"
#include "runtime/output_store.h"

namespace nutshell {
namespace {

// Calls `step` with the jobs of a sandbox.
template <typename Step>
auto with_jobs(Runtime& runtime, const std::string& sandbox, const ExecLimits& limits, Step step)
    -> decltype(step(std::declval<Jobs&>(), std::declval<OutputStore&>())) {
  const std::string id = TRY(runtime.whole_id(sandbox));
  wire::InitClient client = TRY(runtime.connect(id));
  OutputStore outputs = TRY(OutputStore::open(id));
  CallMemory memory;  // this program serves one user
  Jobs jobs(Jobs::Dependencies{
      client, outputs, memory,
      [&](const std::vector<std::string>& layers) { return runtime.restack(id, layers); }, -1,
      [&] { return runtime.why_gone(id); }, limits, BackgroundCommands::Kept});
  return step(jobs, outputs);
}

bool could_not_start(const ExecResult& ending) {
  const bool is_of_init = ending.exit_code == 126 || ending.exit_code == 127;
  return ending.outcome == Outcome::Exited && is_of_init && !ending.detail.empty() &&
         !ending.detail.starts_with(kLeftRunning);
}

}  // namespace

Result<std::string> start_kept_command(Runtime& runtime, const std::string& sandbox,
                                       const KeptCommand& command) {
  const ExecRequest& request = command.request;
  CommandRequest asked;
  asked.argv = request.argv;
  asked.environment = request.environment;
  asked.working_directory = request.working_directory;
  asked.shown = command.shown;
  asked.timeout = request.limits.timeout;
  asked.wait = std::chrono::milliseconds(0);
  return with_jobs(runtime, sandbox, request.limits,
                   [&](Jobs& jobs, OutputStore&) -> Result<std::string> {
                     const CommandState state = TRY(jobs.run(asked));
                     if (!state.job_id.empty()) return state.job_id;
                     if (state.ending && could_not_start(*state.ending))
                       return failure(ErrorCode::InvalidArgument, state.ending->detail);
                     return jobs.newest();
                   });
}

Result<JobLog> look_at_job(Runtime& runtime, const std::string& sandbox, const std::string& job,
                           std::chrono::milliseconds wait) {
  return with_jobs(runtime, sandbox, kNoCommandLimits,
                   [&](Jobs& jobs, OutputStore& outputs) -> Result<JobLog> {
                     JobLog log;
                     const std::string id = job.empty() ? TRY(jobs.newest()) : job;
                     log.state = TRY(jobs.look({id, {}, false, wait}));
                     if (!log.state.output_id.empty())
                       log.stored = TRY(outputs.load(log.state.output_id));
                     return log;
                   });
}

}  // namespace nutshell
