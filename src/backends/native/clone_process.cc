#include "backends/native/clone_process.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nutshell::native {

Result<ChildProcess> clone_process(std::uint64_t flags, int cgroup_directory) {
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = flags | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  if (cgroup_directory >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<std::uint64_t>(cgroup_directory);
  }
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid < 0) return syscall_failure("clone a process");
  return ChildProcess(static_cast<pid_t>(pid), UniqueFd(pidfd));
}

}  // namespace nutshell::native
