#include "backends/native/processes/clone_process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "backends/native/processes/kept_descriptors.h"

namespace nutshell::native {
namespace {

struct Cloned {
  pid_t pid = -1;
  UniqueFd pidfd;
};

Result<Cloned> clone_bare(std::uint64_t flags, int cgroup_directory) {
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
  return Cloned{static_cast<pid_t>(pid), UniqueFd(pidfd)};
}

}  // namespace

Result<ChildProcess> clone_process(std::uint64_t flags, int cgroup_directory) {
  Cloned child = TRY(clone_bare(flags, cgroup_directory));
  return ChildProcess(child.pid, std::move(child.pidfd));
}

Result<ChildProcess> clone_with_low_descriptors(std::uint64_t flags, int cgroup_directory) {
  const UniqueFd has_own_table(::eventfd(0, EFD_CLOEXEC));
  if (!has_own_table) return syscall_failure("eventfd");
  // The child would close this descriptor before it writes to it.
  if (has_own_table.get() >= kFirstKept) return clone_process(flags, cgroup_directory);
  Cloned child = TRY(clone_bare(flags | CLONE_FILES, cgroup_directory));
  if (child.pid == 0) {
    if (::close_range(kFirstKept, ~0U, CLOSE_RANGE_UNSHARE) != 0) ::_exit(1);
    ::eventfd_write(has_own_table.get(), 1);
    return ChildProcess(0, UniqueFd());
  }
  std::array<pollfd, 2> watched = {pollfd{has_own_table.get(), POLLIN, 0},
                                   pollfd{child.pidfd.get(), POLLIN, 0}};
  while (::poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {
  }
  (void)renumber(child.pidfd, kFirstKept);  // on failure it keeps its number
  return ChildProcess(child.pid, std::move(child.pidfd));
}

}  // namespace nutshell::native
