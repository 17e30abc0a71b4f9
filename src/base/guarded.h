// A value that several threads share: reached only with its lock held.
#pragma once

#include <mutex>
#include <utility>

namespace nutshell {

template <typename T>
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(T value) : value_(std::move(value)) {}

  // What `use` returns, by value. Never does I/O inside, and never calls back.
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
  T value_{};
};

}  // namespace nutshell
