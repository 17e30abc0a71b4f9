// Counts the work that is under way, so that a stopping service can refuse new work and wait for
// the rest. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

#include "base/deadline.h"
#include "base/result.h"

namespace nutshell::service {

class WorkGate {
 public:
  // Counts as work under way until its end.
  class Work {
   public:
    explicit Work(WorkGate& gate) : gate_(&gate) {}
    Work(Work&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Work& operator=(Work&&) = delete;
    ~Work() {
      if (gate_ != nullptr) gate_->end();
    }

   private:
    WorkGate* gate_;
  };

  // Unavailable once drain() was called.
  Result<Work> begin() {
    const std::lock_guard lock(mutex_);
    if (is_draining_) return failure(ErrorCode::Unavailable, "the daemon is stopping");
    ++count_;
    return Work(*this);
  }

  // Refuses new work from now on and waits until the rest has ended, or the deadline.
  void drain(const Deadline& deadline) {
    std::unique_lock lock(mutex_);
    is_draining_ = true;
    while (count_ > 0 && !deadline.has_passed())
      ended_.wait_for(lock, std::chrono::milliseconds(50));
  }

  bool is_draining() {
    const std::lock_guard lock(mutex_);
    return is_draining_;
  }

 private:
  void end() {
    const std::lock_guard lock(mutex_);
    --count_;
    ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::uint32_t count_ = 0;
  bool is_draining_ = false;
};

}  // namespace nutshell::service
