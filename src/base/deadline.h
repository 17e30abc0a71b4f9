// A moment on the monotonic clock by which something has to be over.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace nutshell {

using Clock = std::chrono::steady_clock;

class Deadline {
 public:
  static Deadline never() { return Deadline(std::nullopt); }
  static Deadline at(Clock::time_point moment) { return Deadline(moment); }
  static Deadline in(Clock::duration span) {
    const auto now = Clock::now();
    if (span > Clock::time_point::max() - now) return never();
    return Deadline(now + span);
  }

  [[nodiscard]] bool is_never() const { return !moment_; }
  [[nodiscard]] bool has_passed() const { return moment_ && Clock::now() >= *moment_; }

  // For poll(2): milliseconds left, rounded up so that waking means passed; -1 for never.
  [[nodiscard]] int poll_timeout() const {
    if (!moment_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*moment_ - Clock::now()).count();
    return static_cast<int>(std::clamp<long>(left, 0, 1L << 30U));
  }

  friend Deadline earlier(const Deadline& a, const Deadline& b) {
    if (!a.moment_) return b;
    if (!b.moment_) return a;
    return *a.moment_ < *b.moment_ ? a : b;
  }

 private:
  explicit Deadline(std::optional<Clock::time_point> moment) : moment_(moment) {}
  std::optional<Clock::time_point> moment_;
};

}  // namespace nutshell
