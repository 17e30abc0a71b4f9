// A thread that Landlock restricts from its first step on, while the thread that made it stays
// unrestricted.
#pragma once

#include <functional>
#include <semaphore>

#include "base/unique_fd.h"

namespace nutshell::init {

class RestrictedThread {
 public:
  // Runs `step` in a new thread, after restricting that thread and all it will start by `rules`,
  // and waits for its end: two threads never run at once. Returns false if it could not be started
  // or restricted.
  bool run(const UniqueFd& rules, const std::function<void()>& step);

  // Called in that thread: runs `task` in the unrestricted one, and waits for its end. A process
  // with rules may not look into those that have others, such as the rules of the thread before.
  void run_unrestricted(const std::function<void()>& task);

 private:
  struct Work;
  static void* work(void* argument);

  const std::function<void()>* task_ = nullptr;  // null: the restricted thread ends
  std::binary_semaphore has_task_{0};
  std::binary_semaphore is_done_{0};
};

}  // namespace nutshell::init
