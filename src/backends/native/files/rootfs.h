// Makes the file system that a sandbox sees: a read-only root over the host's directories or an
// image, and scratch space of its own. No two sandboxes share a mount whose files can be locked.
#pragma once

#include <string>
#include <vector>

#include "backends/native/files/own_paths.h"
#include "backends/native/files/root_template.h"
#include "backends/native/namespaces/privilege.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/limits.h"
#include "core/sandbox_spec.h"

namespace nutshell::native {

enum class Locks {
  Private,  // file locks of the sandbox are visible to it alone
  Shared,   // they lock the host's files; unsafe, used only if the caller asks for it
};

struct RootSource {
  std::string image;  // a directory with a root file system; if empty, the host's /usr is used
  Privilege privilege = Privilege::Rootless;
  const RootTemplate* prepared = nullptr;  // if null, the root is made in memory
  Locks locks = Locks::Private;
  bool is_staged = false;   // the mount namespace is a copy of a template with a root
  OwnPaths own_paths = {};  // none if is_staged
  bool has_names = false;   // an image gets the settings of resolvers; not if is_staged
};

enum class MountTemplate {
  Plain,     // serves any number of sandboxes: each mounts its own root
  WithRoot,  // is a finished root, and so serves one sandbox at a time
};

// For a process in a new mount namespace: leaves there only those directories of the host that
// roots of this source are made from, each at its own path. Sandboxes begin with a copy of that
// namespace, because a copy of the host's takes longer the more is mounted there. A template with a
// root has nothing else: to detach anything from a copy, the kernel waits for an RCU grace period.
// The source has an image or a prepared root.
Result<> enter_mount_template(const RootSource& source, MountTemplate kind);

// Called in a copy of the host's mount namespace or of a template: makes the sandbox's root.
// Nothing of the old root stays reachable.
Result<> enter_own_root(const RootSource& source);

// A detached mount and the path at which it is attached.
struct PlacedMount {
  int mount = -1;
  std::string target;
};

struct PrivateRoot {
  Privilege privilege = Privilege::Rootless;
  HostIds owner;  // of the scratch directories, as this process counts ids
  Limits limits;
  int base = -1;  // detached mount of the user's directory; if -1, /workspace begins empty
  WorkspaceMode workspace_mode = WorkspaceMode::Auto;
  std::vector<PlacedMount> unsafe_mounts;
  std::string project_in_tmp;  // a path below /tmp at which a link leads to /workspace, or empty
  int parent = -1;             // a process descriptor: this process ends with that one
  bool has_names = false;      // programs of the host's root ask init for names
};

struct PrivateParts {
  UniqueFd store;          // root of the scratch file system, which no path inside leads to
  UniqueFd copied_base;    // in the store, where /workspace is a copy
  std::string why_copied;  // empty if /workspace is no copy
  UniqueFd user_counts;    // /proc/sys/user, which is read-only by its path
};
// Called after enter_own_root(), in the pid namespace of the sandbox: adds /proc, terminals and
// scratch space with a limit.
Result<PrivateParts> mount_private_parts(const PrivateRoot& root);

// Refuses an image in which a link or a file is where a directory has to be mounted.
Result<> check_image(const std::string& image);

}  // namespace nutshell::native
