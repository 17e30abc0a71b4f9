// The file system a sandbox sees. It is made in two parts: what all sandboxes of an image share,
// read-only, and what each has for itself. The first may be made ahead, once.
#pragma once

#include <string>

#include "backends/native/privilege.h"
#include "base/result.h"
#include "core/limits.h"

namespace nutshell::native {

struct RootSource {
  std::string image;  // a directory that holds a root file system; empty: this host's /usr
  Privilege privilege = Privilege::Rootless;
};

// For a process in a new mount namespace: makes the shared part the root, and nothing of the old
// root stays reachable.
Result<> enter_shared_root(const RootSource& source);

struct PrivateRoot {
  Privilege privilege = Privilege::Rootless;
  HostIds owner;  // of the scratch directories, as this process counts ids
  Limits limits;
};

// For a process whose root is the shared part, in a copy of that mount namespace, and in the pid
// namespace the sandbox will have: adds /proc, terminals and bounded scratch space.
Result<> mount_private_parts(const PrivateRoot& root);

// Refuses an image whose mount points are links or missing what a root file system has.
Result<> check_image(const std::string& image);

}  // namespace nutshell::native
