// Moments in the form of the state file. Deadlines are on the monotonic clock, which a jump of the
// wall clock does not move. It starts again at boot, which no sandbox survives.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/deadline.h"

namespace nutshell::service {

using std::chrono::milliseconds;

inline std::int64_t to_ms(Clock::time_point moment) {
  return std::chrono::duration_cast<milliseconds>(moment.time_since_epoch()).count();
}
inline Clock::time_point from_ms(std::int64_t ms) {
  return Clock::time_point(milliseconds(ms));
}
inline std::int64_t wall_ms() {
  return std::chrono::duration_cast<milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}
inline milliseconds until(Clock::time_point moment) {
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(moment - Clock::now()));
}
inline milliseconds since(Clock::time_point moment) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - moment);
}

}  // namespace nutshell::service
