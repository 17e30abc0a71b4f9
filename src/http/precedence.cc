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
  // The nice value holds where the kernel refuses SCHED_RR, and while the thread is not First.
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

// Uses SCHED_RR because a nice value is not enough: under the fair scheduler a thread that has used
// up its slice waits for the others, however short its work is. Child threads do not inherit
// SCHED_RR.
void Precedence::become(Class wanted) {
  if (wanted == current_) return;
  sched_param parameters{};
  parameters.sched_priority = wanted == Class::First ? ::sched_get_priority_min(SCHED_RR) : 0;
  const int policy = (wanted == Class::First ? SCHED_RR : SCHED_OTHER) | SCHED_RESET_ON_FORK;
  if (::sched_setscheduler(0, policy, &parameters) == 0) current_ = wanted;
}

}  // namespace nutshell::http
