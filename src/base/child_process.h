// A child process, held by its pidfd: never confused with a later process of the same number.
#pragma once

#include <sys/types.h>

#include <optional>
#include <utility>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell {

// The destructor kills and reaps the process.
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
  // Returns the status of wait(2); nullopt if the deadline passed first.
  Result<std::optional<int>> wait(const Deadline& deadline);
  void kill_and_reap();
  // Gives up the process, which then outlives this object; descriptor() stays open.
  void release() { pid_ = -1; }

 private:
  pid_t pid_ = -1;  // -1 once reaped or moved from
  UniqueFd pidfd_;
};

}  // namespace nutshell
