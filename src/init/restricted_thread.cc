#include "init/restricted_thread.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nutshell::init {

struct RestrictedThread::Work {
  RestrictedThread& thread;
  int rules;
  const std::function<void()>& step;
  bool is_done = false;
};

void* RestrictedThread::work(void* argument) {
  Work& work = *static_cast<Work*>(argument);
  if (::syscall(SYS_landlock_restrict_self, work.rules, 0U) == 0) {
    work.step();
    work.is_done = true;
  }
  work.thread.task_ = nullptr;
  work.thread.has_task_.release();
  return nullptr;
}

bool RestrictedThread::run(const UniqueFd& rules, const std::function<void()>& step) {
  Work started{*this, rules.get(), step};
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, work, &started) != 0) return false;
  for (has_task_.acquire(); task_ != nullptr; has_task_.acquire()) {
    (*task_)();
    is_done_.release();
  }
  return ::pthread_join(thread, nullptr) == 0 && started.is_done;
}

void RestrictedThread::run_unrestricted(const std::function<void()>& task) {
  task_ = &task;
  has_task_.release();
  is_done_.acquire();
}

}  // namespace nutshell::init
