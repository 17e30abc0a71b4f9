// Fills /workspace with a copy of the user's directory, for kernels that cannot overlay it.
#pragma once

#include "backends/native/namespaces/privilege.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

// The user who reads the directory: the sandbox's user, or the directory's owner on the host if
// that user cannot be mapped to the sandbox's.
enum class Reader { SandboxUser, DirectoryOwner };

struct WorkspaceCopy {
  int store = -1;  // root of the scratch file system, which holds /workspace and the second copy
  int from = -1;   // the user's directory
  HostIds owner;   // the sandbox's user, who owns the copies
  Reader reader = Reader::SandboxUser;
  int parent = -1;  // a process descriptor: this process ends with that one
};

// Fills the workspace and returns a second copy in the store, with which changes are compared. Both
// count against the disk limit.
Result<UniqueFd> copy_workspace(const WorkspaceCopy& copy);

// Unsupported if an overlay cannot have its layers in this directory's file system. It needs
// extended attributes to mark directories, which tmpfs has since Linux 6.6.
Result<> check_layer_marks(int directory);

}  // namespace nutshell::native
