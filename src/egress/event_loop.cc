#include "egress/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>

namespace nutshell::egress {

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return syscall_failure("epoll_create1");
  UniqueFd wakeup(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wakeup) return syscall_failure("eventfd");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wakeup.get(), &event) != 0)
    return syscall_failure("epoll_ctl");
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll), std::move(wakeup)));
}

Result<EventLoop::Watch> EventLoop::watch(int descriptor, std::uint32_t events, Handler handler) {
  const Watch number = ++last_number_;
  epoll_event event{};
  event.events = events;
  event.data.u64 = number;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    return syscall_failure("epoll_ctl");
  watched_.emplace(number,
                   std::make_unique<Watched>(Watched{descriptor, events, std::move(handler)}));
  return number;
}

void EventLoop::change(Watch watch, std::uint32_t events) {
  const auto found = watched_.find(watch);
  if (found == watched_.end() || found->second->events == events) return;
  found->second->events = events;
  epoll_event event{};
  event.events = events;
  event.data.u64 = watch;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, found->second->descriptor, &event);
}

void EventLoop::forget(Watch watch) {
  const auto found = watched_.find(watch);
  if (found == watched_.end()) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->descriptor, nullptr);
  forgotten_.push_back(std::move(found->second));
  watched_.erase(found);
}

EventLoop::Timer EventLoop::call_at(Clock::time_point moment, Step step) {
  const Timer timer{moment, ++last_number_};
  timers_.emplace(timer, std::move(step));
  return timer;
}

bool EventLoop::post(Step step) {
  const bool is_taken = posted_.with([&](Posted& posted) {
    if (posted.is_stopped) return false;
    posted.steps.push_back(std::move(step));
    return true;
  });
  if (is_taken) ::eventfd_write(wakeup_.get(), 1);
  return is_taken;
}

void EventLoop::stop() {
  posted_.with([](Posted& posted) { posted.is_stopped = true; });
  ::eventfd_write(wakeup_.get(), 1);
}

int EventLoop::next_timeout() const {
  if (timers_.empty()) return -1;
  return Deadline::at(timers_.begin()->first.first).poll_timeout();
}

void EventLoop::call_timers() {
  const auto now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    const Step step = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    step();
  }
}

bool EventLoop::call_posted() {
  bool is_stopped = false;
  const std::vector<Step> steps = posted_.with([&](Posted& posted) {
    is_stopped = posted.is_stopped;
    return std::exchange(posted.steps, {});
  });
  for (const Step& step : steps)
    step();
  return !is_stopped;
}

Result<> EventLoop::run() {
  std::array<epoll_event, 64> events{};
  for (;;) {
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), next_timeout());
    if (count < 0 && errno != EINTR) return syscall_failure("epoll_wait");
    for (int index = 0; index < count; ++index) {
      const epoll_event& event = events.at(static_cast<std::size_t>(index));
      if (event.data.u64 == 0) {
        eventfd_t value = 0;
        ::eventfd_read(wakeup_.get(), &value);
        continue;
      }
      const auto found = watched_.find(event.data.u64);
      if (found != watched_.end()) found->second->handler(event.events);
    }
    call_timers();
    forgotten_.clear();
    if (!call_posted()) return {};
  }
}

}  // namespace nutshell::egress
