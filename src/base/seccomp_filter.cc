#include "base/seccomp_filter.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace nutshell {

Result<> set_no_new_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return syscall_failure("set no_new_privs");
  return {};
}

Result<> install_seccomp_filter(std::span<const sock_filter> filter) {
  if (const int error = install_seccomp_filter_raw(filter); error != 0) {
    return syscall_failure(error, "install system-call filter");
  }
  return {};
}

int install_seccomp_filter_raw(std::span<const sock_filter> filter) noexcept {
  if (filter.size() > BPF_MAXINSNS) return EINVAL;  // the length below has 16 bits
  // The kernel only reads the instructions; its structure is older than const.
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};
  const long result = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
  return result == 0 ? 0 : errno;
}

}  // namespace nutshell
