#include "backends/native/processes/close_descriptors.h"

#include <unistd.h>

#include <algorithm>

namespace nutshell::native {

Result<> close_all_but(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned next = 3;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (fd < 0 || number < next) continue;
    if (number > next) ::close_range(next, number - 1, 0);
    next = number + 1;
  }
  if (::close_range(next, ~0U, 0) != 0) return syscall_failure("close_range");
  return {};
}

}  // namespace nutshell::native
