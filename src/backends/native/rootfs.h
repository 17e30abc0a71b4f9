// The file system a sandbox sees. It is made in two parts: what all sandboxes of an image share,
// read-only, and what each has for itself. The first may be made ahead, once.
#pragma once

#include <string>
#include <vector>

#include "backends/native/privilege.h"
#include "backends/native/root_template.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/limits.h"
#include "core/sandbox_spec.h"

namespace nutshell::native {

struct RootSource {
  std::string image;  // a directory that holds a root file system; empty: this host's /usr
  Privilege privilege = Privilege::Rootless;
  const RootTemplate* prepared = nullptr;  // of this host's root; null: it is made in memory
};

// For a process in a new mount namespace: makes the shared part the root, and nothing of the old
// root stays reachable.
Result<> enter_shared_root(const RootSource& source);

// A detached mount, and where it goes.
struct PlacedMount {
  int mount = -1;
  std::string target;
};

struct PrivateRoot {
  Privilege privilege = Privilege::Rootless;
  HostIds owner;  // of the scratch directories, as this process counts ids
  Limits limits;
  int base = -1;  // detached mount that /workspace begins as; -1: it is empty
  WorkspaceMode workspace_mode = WorkspaceMode::Auto;
  std::vector<PlacedMount> unsafe_mounts;
  int parent = -1;  // a process descriptor: this process ends with that one
};

// For a process whose root is the shared part, in a copy of that mount namespace, and in the pid
// namespace the sandbox will have: adds /proc, terminals and bounded scratch space.
struct PrivateParts {
  UniqueFd store;          // root of the scratch file system, which no path inside leads to
  UniqueFd copied_base;    // in the store, where /workspace is a copy
  std::string why_copied;  // empty: it is none
};
Result<PrivateParts> mount_private_parts(const PrivateRoot& root);

// Refuses an image whose mount points are links or missing what a root file system has.
Result<> check_image(const std::string& image);

}  // namespace nutshell::native
