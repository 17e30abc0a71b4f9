// Tasks of the launcher that need an answer from a sandbox, which may be starved of CPU, stopped or
// hostile. The launcher has one thread and never waits for a sandbox: a task does what it can at
// once, returns the event that it waits for, and is called again when that has happened.
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

// The event that a task waits for.
struct Awaited {
  int descriptor = -1;       // -1: no descriptor reports it; the task is called a moment later
  std::uint32_t events = 0;  // of epoll(7)
};

class LauncherTask {
 public:
  LauncherTask() = default;
  LauncherTask(const LauncherTask&) = delete;
  LauncherTask& operator=(const LauncherTask&) = delete;
  virtual ~LauncherTask() = default;

  // Never blocks. Returns nullopt when the task is done and the answer is complete.
  virtual Result<std::optional<Awaited>> proceed(LauncherAnswer& answer) = 0;
  // Called in place of another proceed() when the deadline has passed. Takes back what the task has
  // begun, so that it does not take effect after the client was told of a failure.
  virtual void abandon() {}
  // Hands over the task's child process, which the launcher kills and reaps later.
  virtual ChildProcess take_child() { return {}; }
};

// The sandbox must outlive its tasks.
std::unique_ptr<LauncherTask> make_connect_task(KeptSandbox& kept);
std::unique_ptr<LauncherTask> make_time_task(KeptSandbox& kept, std::chrono::milliseconds left);
std::unique_ptr<LauncherTask> make_restack_task(SideProcess process);
// The cgroup's freezer stops the processes, or else init does, by signal.
enum class Stopping { ByFreezer, ByInit };
std::unique_ptr<LauncherTask> make_pause_task(KeptSandbox& kept, Stopping stopping);
std::unique_ptr<LauncherTask> make_resume_task(KeptSandbox& kept, Stopping stopping);
// Waits until `end` is readable, which it is once a killed sandbox has ended.
std::unique_ptr<LauncherTask> make_end_task(UniqueFd end);

}  // namespace nutshell::native
