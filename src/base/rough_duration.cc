#include "base/rough_duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace nutshell {

std::string rough_duration(std::chrono::milliseconds duration) {
  struct Unit {
    std::int64_t seconds;
    char letter;
  };
  constexpr std::array kUnits = {Unit{86400, 'd'}, Unit{3600, 'h'}, Unit{60, 'm'}, Unit{1, 's'}};
  const std::int64_t seconds = std::max<std::int64_t>(0, duration.count() / 1000);
  for (std::size_t i = 0; i + 1 < kUnits.size(); ++i) {
    const Unit unit = kUnits.at(i);
    if (seconds < unit.seconds) continue;
    const Unit next = kUnits.at(i + 1);
    const std::int64_t rest = seconds % unit.seconds / next.seconds;
    const std::string large = fmt::format("{}{}", seconds / unit.seconds, unit.letter);
    return rest == 0 ? large : fmt::format("{} {}{}", large, rest, next.letter);
  }
  return fmt::format("{}s", seconds);
}

}  // namespace nutshell
