// A thread that is restricted by Landlock from its first step on, while the one that made it is
// not.
#pragma once

#include <functional>

#include "base/unique_fd.h"

namespace nutshell::init {

// Runs `step` in a new thread, after restricting that thread and all it will start by `rules`, and
// waits for its end: two threads never run at once. False: it could not be
// started or restricted.
bool run_restricted(const UniqueFd& rules, const std::function<void()>& step);

}  // namespace nutshell::init
