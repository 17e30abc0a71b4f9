// Waits for descriptors and moments, and calls what is to be done then. One thread runs it; other
// threads may only call post() and stop().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/deadline.h"
#include "base/guarded.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::egress {

class EventLoop {
 public:
  using Handler = std::function<void(std::uint32_t events)>;  // those of epoll
  using Step = std::function<void()>;
  using Watch = std::uint64_t;  // never 0, and never given twice
  using Timer = std::pair<Clock::time_point, std::uint64_t>;

  static Result<std::unique_ptr<EventLoop>> create();

  // The caller keeps the descriptor open until forget().
  Result<Watch> watch(int descriptor, std::uint32_t events, Handler handler);
  void change(Watch watch, std::uint32_t events);
  // Does nothing for 0. The handler is not called again, not even for an event that is there.
  void forget(Watch watch);

  Timer call_at(Clock::time_point moment, Step step);
  void forget_timer(const Timer& timer) { timers_.erase(timer); }

  // From any thread: the loop calls `step`. False if the loop has ended, or is about to: then
  // nobody will call it.
  bool post(Step step);
  void stop();

  // Returns after stop(). Steps that were posted before it have been called then.
  Result<> run();

 private:
  struct Watched {
    int descriptor = -1;
    std::uint32_t events = 0;
    Handler handler;
  };
  struct Posted {
    std::vector<Step> steps;
    bool is_stopped = false;
  };
  EventLoop(UniqueFd epoll, UniqueFd wakeup)
      : epoll_(std::move(epoll)), wakeup_(std::move(wakeup)) {}
  [[nodiscard]] int next_timeout() const;
  void call_timers();
  // Returns false after stop().
  bool call_posted();

  UniqueFd epoll_;
  UniqueFd wakeup_;
  std::uint64_t last_number_ = 0;
  std::unordered_map<Watch, std::unique_ptr<Watched>> watched_;
  std::vector<std::unique_ptr<Watched>> forgotten_;  // a handler may forget itself
  std::map<Timer, Step> timers_;
  Guarded<Posted> posted_;
};

}  // namespace nutshell::egress
