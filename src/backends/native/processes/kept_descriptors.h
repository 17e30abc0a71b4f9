// Numbers of descriptors. Those of kept sandboxes lie above those that a new sandbox needs, so that
// a clone copies, and its child closes, only a few, however many sandboxes are alive.
#pragma once

#include <fcntl.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

inline constexpr int kFirstKept = 1024;
inline constexpr int kFirstOwn = 3;

// Gives the file the lowest free number from `least` on, unless it is on that side of kFirstKept
// already. `least` is kFirstOwn or kFirstKept.
inline Result<> renumber(UniqueFd& fd, int least) {
  if (!fd || (fd.get() >= kFirstKept) == (least >= kFirstKept)) return {};
  UniqueFd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, least));
  if (!moved) return syscall_failure("fcntl", "F_DUPFD_CLOEXEC");
  fd = std::move(moved);
  return {};
}

}  // namespace nutshell::native
