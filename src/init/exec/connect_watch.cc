#include "init/exec/connect_watch.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

#include "base/descriptor_message.h"

namespace nutshell::init {
namespace {

constexpr sock_filter kFilter[] = {
#include "connect.seccomp.inc"
};

// Exists since Linux 5.19; older headers lack it.
constexpr unsigned long kWaitKillable = 1UL << 5U;

// Without kWaitKillable every signal would begin the call anew: Go sends its threads many.
int install() noexcept {
  const sock_fprog program{static_cast<unsigned short>(std::size(kFilter)),
                           const_cast<sock_filter*>(kFilter)};
  constexpr unsigned long kListen = SECCOMP_FILTER_FLAG_NEW_LISTENER;
  long made = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kListen | kWaitKillable, &program);
  if (made < 0 && errno == EINVAL) {
    made = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kListen, &program);
  }
  return static_cast<int>(made);
}

// Filters of engines and kernels before 5.6 refuse it.
bool may_take_descriptors() {
  const UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!self) return false;
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, self.get(), self.get(), 0)))
      .is_open();
}

// A system administrator may allow nobody to look into other processes, not even into descendants.
bool may_look_at_children() {
  const UniqueFd file(::open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC));
  char scope = '0';
  return !file || ::read(file.get(), &scope, 1) != 1 || scope < '2';
}

}  // namespace

bool can_watch_connects() {
  const std::uint32_t action = SECCOMP_RET_USER_NOTIF;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 &&
         may_look_at_children() && may_take_descriptors();
}

int watch_own_connects(int sender) noexcept {
  const int listener = install();
  if (listener < 0) return errno;
  // The listener is closed by the exec that follows.
  return send_with_descriptors(sender, "n", {&listener, 1}, MSG_DONTWAIT) == 1 ? 0 : errno;
}

UniqueFd take_watch(int receiver) {
  char byte = 0;
  UniqueFd listener;  // stays closed if nothing came
  (void)receive_with_descriptor(receiver, {&byte, 1}, MSG_DONTWAIT, listener);
  return listener;
}

}  // namespace nutshell::init
