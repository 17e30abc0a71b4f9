#include "backends/native/user_namespace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "backends/native/clone_process.h"
#include "backends/native/id_map.h"
#include "base/file.h"

namespace nutshell::native {

Result<UserNamespace> UserNamespace::create(const HostIds& ids) {
  // Lives in it while it is being mapped and opened, and is killed at the end of this function, or
  // with us: it has a copy of every descriptor, and would keep them open for those who wait.
  const pid_t own = ::getpid();
  const ChildProcess resident = TRY(clone_process(CLONE_NEWUSER, -1));
  if (resident.pid() == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (::getppid() == own)
      ::pause();
    ::_exit(0);
  }
  const std::string process = fmt::format("/proc/{}", resident.pid());
  TRY(write_id_map(process, {kSandboxUser, ids.user, kSandboxGroup, ids.group}));
  return UserNamespace(TRY(open_file(process + "/ns/user", O_RDONLY)), ids);
}

}  // namespace nutshell::native
