#include "backends/gvisor/pinned_cores.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/random_id.h"

namespace nutshell::gvisor {

Result<PinnedCores> PinnedCores::take(std::uint32_t count) {
  cpu_set_t before;
  CPU_ZERO(&before);
  if (::sched_getaffinity(0, sizeof before, &before) != 0) return syscall_failure("read affinity");
  std::vector<std::size_t> cores;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &before)) cores.push_back(core);
  }
  const std::size_t first = cores.empty() ? 0 : random_number() % cores.size();
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  for (std::size_t i = 0; i < std::min<std::size_t>(count, cores.size()); ++i)
    CPU_SET(cores[(first + i) % cores.size()], &chosen);
  if (::sched_setaffinity(0, sizeof chosen, &chosen) != 0) return syscall_failure("set affinity");
  return PinnedCores(before);
}

PinnedCores::PinnedCores(PinnedCores&& other) noexcept
    : before_(other.before_), is_on_(std::exchange(other.is_on_, false)) {}

PinnedCores::~PinnedCores() {
  if (is_on_) ::sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace nutshell::gvisor
