#include "service/fault_point.h"

#include <csignal>
#include <cstdlib>
#include <string>

namespace nutshell::service {

void fault_point(std::string_view name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here changes the environment
  static const char* const kChosen = std::getenv("NUTSHELL_TEST_FAULT");
  if (kChosen != nullptr && name == kChosen) std::raise(SIGKILL);
}

}  // namespace nutshell::service
