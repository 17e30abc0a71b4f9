// A value that several threads share: reached only with its lock held, which is never held across
// I/O.
#pragma once

#include <mutex>
#include <utility>

namespace nutshell {

template <typename T>
class Guarded {
 public:
  template <typename... Arguments>
  explicit Guarded(Arguments&&... arguments) : value_(std::forward<Arguments>(arguments)...) {}

  // What `use` returns, by value. It never calls back.
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
