#include "base/fault_point.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>

namespace nutshell {

void fault_point(std::string_view name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here changes the environment
  static const char* const kChosen = std::getenv("NUTSHELL_TEST_FAULT");
  if (kChosen == nullptr) return;
  constexpr std::string_view kStop = ":stop";
  std::string_view chosen = kChosen;
  const bool stops = chosen.ends_with(kStop);
  if (stops) chosen.remove_suffix(kStop.size());
  if (name != chosen) return;
  if (!stops) std::raise(SIGKILL);
  static std::atomic<bool> was_here = false;
  if (!was_here.exchange(true)) ::kill(::getpid(), SIGSTOP);
}

}  // namespace nutshell
