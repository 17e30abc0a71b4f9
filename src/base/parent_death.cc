#include "base/parent_death.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nutshell {
namespace {

Result<> ask_for_signal() {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return syscall_failure("set parent-death signal");
  return {};
}

}  // namespace

Result<UniqueFd> open_own_process() {
  // By number: the header of glibc 2.36 declares it for C alone.
  UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!process) return syscall_failure("pidfd_open");
  return process;
}

bool has_ended(int process) {
  pollfd entry{process, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

Result<> die_with_parent(int parent) {
  TRY(ask_for_signal());
  if (has_ended(parent)) ::_exit(1);
  return {};
}

Result<> die_with_parent_process(pid_t parent) {
  TRY(ask_for_signal());
  if (::getppid() != parent) ::_exit(1);
  return {};
}

}  // namespace nutshell
