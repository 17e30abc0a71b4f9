// A value that threads share. It can be reached only with its lock held, and the lock is never
// held across I/O.
#pragma once

#include <mutex>
#include <utility>

namespace nutshell {

template <typename T>
class Guarded {
 public:
  template <typename... Arguments>
  explicit Guarded(Arguments&&... arguments) : value_(std::forward<Arguments>(arguments)...) {}

  // Returns the result of `use`, by value. `use` must not call this object again.
  template <typename Use>
  auto with(Use&& use) {
    const std::lock_guard lock(mutex_);
    return std::forward<Use>(use)(value_);
  }
  template <typename Use>
  auto with(Use&& use) const {
    const std::lock_guard lock(mutex_);
    return std::forward<Use>(use)(value_);
  }

 private:
  mutable std::mutex mutex_;
  T value_;
};

}  // namespace nutshell
