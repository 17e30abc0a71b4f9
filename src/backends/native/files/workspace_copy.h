// /workspace as a real copy of the user's directory, for kernels that cannot stack layers over it.
#pragma once

#include "backends/native/namespaces/privilege.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

// Who reads the directory: the sandbox's user, or its owner on the host where the two cannot be
// made the same.
enum class Eyes { OfSandbox, OfHostOwner };

struct WorkspaceCopy {
  int store = -1;  // root of the scratch file system; holds /workspace and what it is compared with
  int from = -1;   // the user's directory
  HostIds owner;   // reads it, and has the copies
  Eyes eyes = Eyes::OfSandbox;
  int parent = -1;  // a process descriptor: this process ends with that one
};

// Fills the workspace, and returns a second copy in the store that stays as it is. Both count
// against the disk limit.
Result<UniqueFd> copy_workspace(const WorkspaceCopy& copy);

// Whether an overlay over layers in this directory's file system would be whole: tmpfs keeps the
// attributes that mark a directory made anew only since Linux 6.6.
Result<> check_layer_marks(int directory);

}  // namespace nutshell::native
