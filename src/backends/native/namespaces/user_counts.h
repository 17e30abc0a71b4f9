// The kernel counts some resources by user: inotify instances and watches, bytes in message queues,
// pending signals, locked memory. As root, each sandbox has a user of its own. A plain user's
// sandboxes share that user's counts, so they are limited here and leave some to the user's other
// programs.
#pragma once

#include <functional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

// Halves this process's soft limits while `enter` makes a user namespace. The namespace keeps the
// halved limits for all its processes; this process gets its own back.
//
// The kernel compares such a limit with all that the user holds, in any namespace. So any number of
// sandboxes together leave the other half to the user.
Result<> with_halved_limits(const std::function<Result<>()>& enter);

// Opens /proc/sys/user, while this process still may write to it.
Result<UniqueFd> open_user_counts();

enum class Share {
  OfAllSandboxes,  // half of what the host allows a user
  OfOneSandbox,    // a quarter
};
// Limits inotify for all processes in this process's user namespace. This process must be its root.
Result<> bound_inotify(const UniqueFd& user_counts, Share share);

}  // namespace nutshell::native
