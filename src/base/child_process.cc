#include "base/child_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

namespace nutshell {

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    kill_and_reap();
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::move(other.pidfd_);
  }
  return *this;
}

void ChildProcess::send_signal(int signal) const {
  if (pid_ > 0) ::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
}

Result<std::optional<int>> ChildProcess::wait(const Deadline& deadline) {
  if (!TRY(wait_for(pidfd_.get(), POLLIN, deadline))) return std::optional<int>();
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0) {
    if (errno != EINTR) return syscall_failure("waitpid");
  }
  pid_ = -1;
  return std::optional<int>(status);
}

void ChildProcess::kill_and_reap() {
  if (pid_ <= 0) return;
  send_signal(SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace nutshell
