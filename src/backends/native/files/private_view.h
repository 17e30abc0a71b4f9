// A directory of the host as one sandbox sees it: read-only, and through an overlay of its own.
//
// The kernel keeps locks, leases and watches by inode. Through a bind mount a sandbox would lock
// the host's own inode: it could make programs of the host wait, signal to another sandbox, and
// learn from a watch which programs the host starts. The overlay's inodes belong to this sandbox
// alone.
#pragma once

#include <string>
#include <vector>

#include "backends/native/namespaces/privilege.h"
#include "base/result.h"

namespace nutshell::native {

// Where something is mounted in a mount namespace.
class MountTable {
 public:
  // Reads the mount table of the calling process. /proc must be mounted.
  static Result<MountTable> read();

  // Paths below `directory` at which something is mounted, those nearer to the root first.
  [[nodiscard]] std::vector<std::string> below(const std::string& directory) const;

 private:
  std::vector<std::string> places_;  // sorted
};

struct PrivateView {
  std::string source;  // absolute
  std::string place;   // an existing directory
  // An overlay without an upper layer needs a second lower one: this one.
  int empty_directory = -1;
  Privilege privilege = Privilege::Rootless;
};

// Mounts `source` on `place`, and everything that `table` has below `source` where it is there. For
// a process in a mount namespace of its own with a /proc; changes the working directory.
Result<> mount_private_view(const PrivateView& view, const MountTable& table);

}  // namespace nutshell::native
