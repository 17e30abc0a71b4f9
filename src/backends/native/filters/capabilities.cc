#include "backends/native/filters/capabilities.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace nutshell::native {

Result<> empty_bounding_set() {
  // The kernel may know more capabilities than our headers: the first unknown one ends the loop.
  int capability = 0;
  while (::prctl(PR_CAPBSET_DROP, capability) == 0)
    ++capability;
  if (errno != EINVAL || capability <= CAP_LAST_CAP - 1)
    return syscall_failure("drop a capability");
  return {};
}

Result<> drop_capabilities() {
  constexpr unsigned kNoRootMagic = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                    SECBIT_NO_CAP_AMBIENT_RAISE |
                                    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (::prctl(PR_SET_SECUREBITS, kNoRootMagic) != 0) return syscall_failure("set secure bits");
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) {
    return syscall_failure("clear ambient capabilities");
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return syscall_failure("capset");
  return {};
}

}  // namespace nutshell::native
