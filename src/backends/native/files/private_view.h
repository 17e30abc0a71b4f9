// Mounts a directory of the host for one sandbox: read-only, and through an overlay of its own.
//
// The kernel keeps locks, leases and watches by inode. Through a bind mount a sandbox would use the
// host's inodes: it could make programs of the host wait for a lock, send messages to another
// sandbox, and learn from a watch which programs the host starts. The inodes of an overlay belong
// to its sandbox alone.
#pragma once

#include <string>
#include <vector>

#include "backends/native/namespaces/privilege.h"
#include "base/result.h"

namespace nutshell::native {

// The mount points of a mount namespace.
class MountTable {
 public:
  // Reads the mount table of the calling process. /proc must be mounted.
  static Result<MountTable> read();

  // Mount points below `directory`, parents before their children.
  [[nodiscard]] std::vector<std::string> below(const std::string& directory) const;

 private:
  std::vector<std::string> places_;  // sorted
};

struct PrivateView {
  std::string source;  // absolute
  std::string place;   // an existing directory
  // The second lower layer, which an overlay without an upper layer needs.
  int empty_directory = -1;
  Privilege privilege = Privilege::Rootless;
};

// Mounts `source` on `place`, and each mount that `table` has below `source` at its path below
// `place`. The calling process must be in a mount namespace of its own with a /proc. Changes the
// working directory.
Result<> mount_private_view(const PrivateView& view, const MountTable& table);

}  // namespace nutshell::native
