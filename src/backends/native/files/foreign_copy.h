// Copies a directory whose owner cannot be made to appear as the sandbox's: its file system, or the
// kernel, translates no owners. Root only.
#pragma once

#include "backends/native/namespaces/privilege.h"
#include "base/result.h"

namespace nutshell::native {

struct ForeignCopy {
  int from = -1;    // the directory
  int to = -1;      // an empty one
  HostIds owner;    // has the copy
  int parent = -1;  // a process descriptor: this process ends with that one
};

// Read with the eyes of the directory's owner and no more: what that one may not read is left out,
// also where it is root, whose power to read everything is put down meanwhile.
Result<> copy_as_its_owner(const ForeignCopy& copy);

}  // namespace nutshell::native
