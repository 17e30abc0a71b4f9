// Callers who wait for the same thing, in the order in which they came. Only the first may take
// what comes free, and nobody else is woken for it. Every call is made with the owner's lock held.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>

#include "base/deadline.h"

namespace nutshell::service {

class WaitingLine {
 public:
  // In the line until the end of this object; then the next one looks.
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
    // May return early.
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
  // One that sleeps and may well do something meanwhile: the last, whose turn is far away.
  void wake_somebody() const {
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
