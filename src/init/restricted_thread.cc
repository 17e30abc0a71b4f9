#include "init/restricted_thread.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nutshell::init {
namespace {

struct Work {
  int rules;
  const std::function<void()>& step;
  bool is_done = false;
};

void* run_work(void* argument) {
  Work& work = *static_cast<Work*>(argument);
  if (::syscall(SYS_landlock_restrict_self, work.rules, 0U) != 0) return nullptr;
  work.step();
  work.is_done = true;
  return nullptr;
}

}  // namespace

bool run_restricted(const UniqueFd& rules, const std::function<void()>& step) {
  Work work{rules.get(), step};
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, run_work, &work) != 0) return false;
  return ::pthread_join(thread, nullptr) == 0 && work.is_done;
}

}  // namespace nutshell::init
