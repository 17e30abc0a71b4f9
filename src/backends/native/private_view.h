// A directory of the host as one sandbox sees it: read-only, and through an overlay of its own.
//
// The kernel keeps locks, leases and watches by inode. Through a bind mount a sandbox would lock
// the host's own inode: it could make programs of the host wait, signal to another sandbox, and
// learn from a watch which programs the host starts. The overlay's inodes belong to this sandbox
// alone.
#pragma once

#include <string>

#include "backends/native/privilege.h"
#include "base/result.h"

namespace nutshell::native {

struct PrivateView {
  std::string source;  // absolute
  std::string place;   // an existing directory
  int empty_directory =
      -1;  // the kernel wants a second layer below an overlay that has no upper one
  Privilege privilege = Privilege::Rootless;
};

// Mounts `source` on `place`, and everything that is mounted below `source` where it is there. For
// a process in a mount namespace of its own with a /proc; changes the working directory.
Result<> mount_private_view(const PrivateView& view);

}  // namespace nutshell::native
