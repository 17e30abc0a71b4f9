// Stops all processes of the sandbox, and continues exactly those later. Job control inside does
// not notice: a process that was stopped before stays stopped, a Ctrl-Z that comes meanwhile is not
// lost, and no parent sees its child stop.
#pragma once

#include <sys/types.h>

#include <vector>

#include "init/exec/process_marks.h"

namespace nutshell::init {

class Halt {
 public:
  explicit Halt(const ProcessMarks& marks) : marks_(marks) {}

  [[nodiscard]] bool is_on() const { return is_on_; }
  // Stops all processes, also those that are just being forked.
  void stop_all();
  // Stops those of `pids` that run although all are stopped. Returns those that were stopped before
  // and that something continued.
  std::vector<pid_t> stop_again(const std::vector<pid_t>& pids);
  void resume();

 private:
  struct Process;
  [[nodiscard]] std::vector<Process> parents_first(const std::vector<pid_t>& pids) const;
  std::vector<pid_t> stop(const std::vector<pid_t>& pids);
  void wait_until_stopped(pid_t pid, const Deadline& deadline) const;

  const ProcessMarks& marks_;
  bool is_on_ = false;
  std::vector<pid_t> stopped_;  // by this object, parents first
};

}  // namespace nutshell::init
