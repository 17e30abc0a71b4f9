// Copies a directory whose owner cannot be mapped to the sandbox's user, because its file system or
// the kernel does not support mapped mounts. Needs root.
#pragma once

#include "backends/native/namespaces/privilege.h"
#include "base/result.h"

namespace nutshell::native {

struct ForeignCopy {
  int from = -1;    // the directory
  int to = -1;      // an empty directory
  HostIds owner;    // owns the copy
  int parent = -1;  // a process descriptor: this process ends with that one
};

// Reads with the rights of the directory's owner only and leaves out what that user may not read.
// If the owner is root, the capabilities that override file permissions are off meanwhile.
Result<> copy_as_its_owner(const ForeignCopy& copy);

}  // namespace nutshell::native
