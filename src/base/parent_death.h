// Ends a child process together with its parent. The child itself asks the kernel for the
// parent-death signal, and a parent that died before that is never noticed: so each of these asks
// first and then looks whether the parent is still alive. Safe between clone(2) and exec(2).
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell {

// Opens a descriptor of this process, readable once it has ended. A child in another pid namespace
// needs it to watch its parent: getppid() is 0 there, before and after.
Result<UniqueFd> open_own_process();

// Called by a child whose parent is the process behind `parent`. Exits if the parent is dead.
Result<> die_with_parent(int parent);
// The same for a child in the parent's pid namespace; `parent` is getpid() before the clone.
Result<> die_with_parent_process(pid_t parent);

[[nodiscard]] bool has_ended(int process);

}  // namespace nutshell
