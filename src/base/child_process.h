// A process by descriptor: never confused with a later process of the same number.
#pragma once

#include <sys/types.h>

#include <optional>
#include <utility>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell {

// A child process of ours. The destructor kills and reaps it.
class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  ChildProcess(ChildProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess() { kill_and_reap(); }

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int descriptor() const { return pidfd_.get(); }  // readable once it has ended
  [[nodiscard]] bool is_owned() const { return pid_ > 0; }

  void send_signal(int signal) const;
  // The status of wait(2); nothing when the deadline passed first.
  Result<std::optional<int>> wait(const Deadline& deadline);
  void kill_and_reap();

 private:
  pid_t pid_ = -1;  // -1 once reaped or moved from
  UniqueFd pidfd_;
};

}  // namespace nutshell
