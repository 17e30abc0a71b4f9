// The file system a sandbox sees: a read-only root over the host's directories or an image, and
// scratch space of its own. Every mount that can carry a lock is made for one sandbox.
#pragma once

#include <string>
#include <vector>

#include "backends/native/files/root_template.h"
#include "backends/native/namespaces/privilege.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/limits.h"
#include "core/sandbox_spec.h"

namespace nutshell::native {

enum class Locks {
  Private,  // file locks of the sandbox stay in it
  Shared,   // unsafe, asked for by name: they lock the host's files
};

struct RootSource {
  std::string image;  // a directory that holds a root file system; empty: this host's /usr
  Privilege privilege = Privilege::Rootless;
  const RootTemplate* prepared = nullptr;  // of this host's root; null: it is made in memory
  Locks locks = Locks::Private;
  bool is_staged = false;  // the mount namespace is a copy of a workshop with a root
};

enum class Workshop {
  Plain,     // serves any number of sandboxes: each mounts its own root
  WithRoot,  // is a finished root, and so serves one sandbox at a time
};

// For a process in a new mount namespace: leaves there only those directories of the host that
// roots of this source are made from, each at its own path. Sandboxes begin with a copy of that
// namespace, because a copy of the host's takes longer the more is mounted there. A workshop with a
// root has nothing else: to detach anything from a copy, the kernel waits for an RCU grace period.
// The source has an image or a prepared root.
Result<> enter_workshop(const RootSource& source, Workshop workshop);

// For a process in a new mount namespace, of the host or of a workshop: makes the sandbox's root,
// and nothing of the old root stays reachable.
Result<> enter_own_root(const RootSource& source);

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

// For a process that has entered its root, in the pid namespace the sandbox will have: adds /proc,
// terminals and bounded scratch space.
struct PrivateParts {
  UniqueFd store;          // root of the scratch file system, which no path inside leads to
  UniqueFd copied_base;    // in the store, where /workspace is a copy
  std::string why_copied;  // empty: it is none
  UniqueFd user_counts;    // /proc/sys/user, which is read-only by its path
};
Result<PrivateParts> mount_private_parts(const PrivateRoot& root);

// Refuses an image whose mount points are links or missing what a root file system has.
Result<> check_image(const std::string& image);

}  // namespace nutshell::native
