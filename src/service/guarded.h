// A value that can only be reached under its lock. The lock is never held across I/O.
#pragma once

#include <mutex>
#include <utility>

namespace nutshell::service {

template <typename T>
class Guarded {
 public:
  template <typename... Arguments>
  explicit Guarded(Arguments&&... arguments) : value_(std::forward<Arguments>(arguments)...) {}

  template <typename Step>
  auto with(Step&& step) {
    const std::lock_guard lock(mutex_);
    return std::forward<Step>(step)(value_);
  }

 private:
  std::mutex mutex_;
  T value_;
};

}  // namespace nutshell::service
