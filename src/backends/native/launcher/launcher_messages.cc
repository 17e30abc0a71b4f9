#include "backends/native/launcher/launcher_messages.h"

#include <fmt/format.h>

namespace nutshell::native {

Failure deadline_failure(const LauncherRequest& request) {
  if (request.operation == Operation::Start) {
    return failure(ErrorCode::DeadlineExceeded,
                   fmt::format("the sandbox did not start within {} s", kStartTime.count()));
  }
  if (request.operation == Operation::Stop) {
    return failure(ErrorCode::DeadlineExceeded,
                   fmt::format("sandbox {} was killed, but some of its processes have not ended "
                               "after {} s",
                               request.id, kEndTime.count()));
  }
  return failure(ErrorCode::Unavailable,
                 fmt::format("sandbox {0} does not answer: its init, which may be starved of CPU, "
                             "did not answer in time. Try again, or end it with "
                             "'nutshell destroy {0}'",
                             request.id));
}

std::string why_ended(const KeptSandbox& kept, bool is_out_of_memory) {
  if (is_out_of_memory) return "it ran out of memory";
  if (kept.time_left() == std::chrono::milliseconds(0)) return "its ttl was over";
  if (kept.spec.idle_timeout.count() > 0) return "its idle timeout was over, or it was killed";
  return "its first process was killed";
}

Failure too_many_waiting(const std::string& id) {
  return failure(ErrorCode::Unavailable,
                 fmt::format("sandbox {0} does not answer: {1} requests already wait for its init. "
                             "Try again later, or end it with 'nutshell destroy {0}'",
                             id, kMostWaiting));
}

}  // namespace nutshell::native
