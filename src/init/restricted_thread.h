// A thread that Landlock restricts from its first step on, while the thread that made it stays
// unrestricted.
#pragma once

#include <functional>

#include "base/unique_fd.h"

namespace nutshell::init {

// Runs `step` in a new thread, after restricting that thread and all it will start by `rules`, and
// waits for its end: two threads never run at once. Returns false if it could not be started or
// restricted.
bool run_restricted(const UniqueFd& rules, const std::function<void()>& step);

}  // namespace nutshell::init
