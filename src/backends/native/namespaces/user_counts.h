// The kernel counts some things by user: inotify instances and watches, bytes in message queues,
// pending signals, locked memory. As root each sandbox is a user of its own. A plain user's
// sandboxes are that user, so what they take is bounded here, and the user's other programs find
// some left.
#pragma once

#include <functional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

// Makes `enter` a user namespace with half of this process's soft limits. The namespace keeps them
// as bounds for everybody in it; the process itself gets its own back.
//
// The kernel compares such a bound with what the user has outside of the namespace, other
// namespaces and programs included. So any number of sandboxes leaves the other half to the user.
Result<> with_halved_limits(const std::function<Result<>()>& enter);

// /proc/sys/user, to be opened where it may be written to.
Result<UniqueFd> open_user_counts();

enum class Share {
  OfAllSandboxes,  // half of what the host allows a user
  OfOneSandbox,    // a quarter
};
// Bounds inotify for all who live in the user namespace of this process, which has to be its root.
Result<> bound_inotify(const UniqueFd& user_counts, Share share);

}  // namespace nutshell::native
