#include "base/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/beneath_walk.h"

namespace nutshell {

Result<UniqueFd> open_beneath(int directory, const std::string& path, int flags, unsigned mode,
                              Links links) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? mode : 0;
  how.resolve = RESOLVE_NO_MAGICLINKS;
  if (links == Links::Refuse) how.resolve |= RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  if (links == Links::Confine) how.resolve |= RESOLVE_IN_ROOT;
  for (;;) {
    const long fd = ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how);
    if (fd >= 0) return UniqueFd(static_cast<int>(fd));
    if (errno == ENOSYS) return walk_beneath(directory, path, flags, mode, links);
    // EAGAIN: a rename raced with the look-up and the kernel could not tell whether it escaped.
    if (errno != EAGAIN && errno != EINTR) return syscall_failure("open", path);
  }
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

}  // namespace nutshell
