#include "http/precedence.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>

namespace nutshell::http {
namespace {

constexpr int kPriority = -10;

std::chrono::nanoseconds now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

Precedence::Precedence() : used_(now(CLOCK_THREAD_CPUTIME_ID)), moment_(now(CLOCK_MONOTONIC)) {
  // Where the kernel grants no more, and for the times in between: before others of its kind.
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kPriority);
  become(Class::First);
}

void Precedence::look() {
  const auto used = now(CLOCK_THREAD_CPUTIME_ID);
  const auto moment = now(CLOCK_MONOTONIC);
  become(after(current_, used - used_, moment - moment_));
  used_ = used;
  moment_ = moment;
}

Precedence::Class Precedence::after(Class before, std::chrono::nanoseconds used,
                                    std::chrono::nanoseconds passed) {
  if (used * 2 > passed) return Class::Usual;
  if (used * 4 < passed) return Class::First;
  return before;
}

// A nice value only moves a thread within a fair share, and one that has just had its share waits
// for the others however short its work is. Round robin is above that; its threads do not inherit
// it.
void Precedence::become(Class wanted) {
  if (wanted == current_) return;
  sched_param parameters{};
  parameters.sched_priority = wanted == Class::First ? ::sched_get_priority_min(SCHED_RR) : 0;
  const int policy = (wanted == Class::First ? SCHED_RR : SCHED_OTHER) | SCHED_RESET_ON_FORK;
  if (::sched_setscheduler(0, policy, &parameters) == 0) current_ = wanted;
}

}  // namespace nutshell::http
