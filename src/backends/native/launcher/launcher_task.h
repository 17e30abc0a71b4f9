// Operations of the launcher that depend on a sandbox, which may be starved, stopped or hostile.
// The launcher has one thread for everybody and never waits for any sandbox: an operation does what
// it can at once, says what it waits for, and is asked to proceed when that has happened.
#pragma once

#include <sys/epoll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/native/launcher/kept_sandbox.h"
#include "backends/native/launcher/launcher_protocol.h"
#include "backends/native/processes/side_process.h"

namespace nutshell::native {

struct LauncherAnswer {
  LauncherReply reply;
  std::vector<UniqueFd> descriptors;
};

// The event that an operation waits for.
struct Awaited {
  int descriptor = -1;       // -1: no descriptor tells, and it looks again a moment later
  std::uint32_t events = 0;  // of epoll(7)
};

class LauncherTask {
 public:
  LauncherTask() = default;
  LauncherTask(const LauncherTask&) = delete;
  LauncherTask& operator=(const LauncherTask&) = delete;
  virtual ~LauncherTask() = default;

  // Never waits. Nothing: it is done, and the answer is complete.
  virtual Result<std::optional<Awaited>> proceed(LauncherAnswer& answer) = 0;
  // Called instead of a further proceed() when the deadline has passed: takes back what would
  // otherwise happen later with nobody knowing.
  virtual void abandon() {}
  // A child that may take a while to be gone.
  virtual ChildProcess take_child() { return {}; }
};

// All of them need the sandbox for as long as they live.
std::unique_ptr<LauncherTask> make_connect_task(KeptSandbox& kept);
std::unique_ptr<LauncherTask> make_time_task(KeptSandbox& kept, std::chrono::milliseconds left);
std::unique_ptr<LauncherTask> make_restack_task(SideProcess process);
// With `has_freezer` the cgroup stops the processes, without it init does, by signal.
enum class Stopping { ByFreezer, ByInit };
std::unique_ptr<LauncherTask> make_pause_task(KeptSandbox& kept, Stopping stopping);
std::unique_ptr<LauncherTask> make_resume_task(KeptSandbox& kept, Stopping stopping);
// Waits for the end of a sandbox that was killed.
std::unique_ptr<LauncherTask> make_end_task(UniqueFd end);

}  // namespace nutshell::native
