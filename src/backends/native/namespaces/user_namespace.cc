#include "backends/native/namespaces/user_namespace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>

#include "backends/native/namespaces/id_map.h"
#include "backends/native/processes/child_answer.h"
#include "backends/native/processes/clone_process.h"
#include "base/file.h"
#include "base/pipe.h"

namespace nutshell::native {
namespace {

// Makes the namespace, writes an answer to `report`, and lives in the namespace while its parent
// opens it.
[[noreturn]] void reside(const HostIds& ids, int report, pid_t parent) {
  const auto entered = enter_user_namespace_of(ids);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // not earlier: a change of user clears it
  const bool is_told = static_cast<bool>(write_all(report, encode_answer(entered)));
  ::close(report);
  while (is_told && entered && ::getppid() == parent)
    ::pause();
  ::_exit(0);
}

}  // namespace

// The kernel charges what users of a namespace hold (inotify instances, message queues, pending
// signals, namespaces, …) also to the user who made the namespace. So the sandbox's own user makes
// it: if root did, root's other programs could run out of them.
Result<> enter_user_namespace_of(const HostIds& ids) {
  // Some hosts let only privileged processes make user namespaces, so capabilities stay for that.
  if (::prctl(PR_SET_KEEPCAPS, 1) != 0) return syscall_failure("keep capabilities");
  if (::setresgid(ids.group, ids.group, ids.group) != 0 ||
      ::setresuid(ids.user, ids.user, ids.user) != 0) {
    return syscall_failure("become an unprivileged user");
  }
  // A process that changed its user is not dumpable: its /proc files belong to root, and it could
  // not write its own id map.
  if (::prctl(PR_SET_DUMPABLE, 1) != 0) return syscall_failure("set dumpable");
  if (::unshare(CLONE_NEWUSER) != 0) return syscall_failure("unshare", "user");
  return write_id_map("/proc/self", {kSandboxUser, ids.user, kSandboxGroup, ids.group});
}

Result<UserNamespace> UserNamespace::create(const HostIds& ids) {
  auto [answers, report] = TRY(make_pipe());
  // Killed at the end of this function, or with us: it has a copy of every descriptor, and would
  // keep them open for those who wait for their end.
  const pid_t own = ::getpid();
  const ChildProcess resident = TRY(clone_process(0, -1));
  if (resident.pid() == 0) reside(ids, report.get(), own);
  report.reset();
  std::array<char, 512> answer{};
  const ssize_t count = ::read(answers.get(), answer.data(), answer.size());
  if (count < 0) return syscall_failure("read", "the answer of a user namespace's maker");
  TRY(decode_answer({answer.data(), static_cast<std::size_t>(count)}));
  return UserNamespace(TRY(open_file(fmt::format("/proc/{}/ns/user", resident.pid()), O_RDONLY)),
                       ids);
}

}  // namespace nutshell::native
