// A first-in-first-out queue of waiting callers. Only the first is woken when something comes free.
// Callers of every function hold the owner's lock.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>

#include "base/deadline.h"

namespace nutshell::service {

class WaitingLine {
 public:
  // A place in the queue until the end of this object, which wakes the next.
  class Place {
   public:
    explicit Place(WaitingLine& line) : line_(line) { line_.places_.push_back(this); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
      line_.places_.remove(this);
      line_.wake_first();
    }

    [[nodiscard]] bool is_first() const { return line_.places_.front() == this; }
    // May return before the moment.
    void wait_until(std::unique_lock<std::mutex>& lock, Clock::time_point moment) {
      is_asleep_ = true;
      woken_.wait_until(lock, moment);
      is_asleep_ = false;
    }

   private:
    friend class WaitingLine;
    WaitingLine& line_;
    std::condition_variable woken_;
    bool is_asleep_ = false;
  };

  [[nodiscard]] std::size_t size() const { return places_.size(); }
  void wake_first() const {
    if (!places_.empty()) places_.front()->woken_.notify_one();
  }
  // Wakes the last caller that sleeps, to do other work: its turn is furthest away.
  void wake_last() const {
    const auto sleeper = std::find_if(places_.rbegin(), places_.rend(),
                                      [](const Place* place) { return place->is_asleep_; });
    if (sleeper != places_.rend()) (*sleeper)->woken_.notify_one();
  }
  void wake_all() const {
    for (Place* place : places_)
      place->woken_.notify_one();
  }

 private:
  std::list<Place*> places_;
};

}  // namespace nutshell::service
