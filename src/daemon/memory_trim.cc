#include "daemon/memory_trim.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"

namespace nutshell::daemon {
namespace {

// Zero if the kernel does not say.
std::uint64_t resident_bytes() {
  const auto statm = read_file("/proc/self/statm", 256);
  if (!statm) return 0;
  char* rest = nullptr;
  (void)std::strtoull(statm->c_str(), &rest, 10);  // all of the address space
  return std::strtoull(rest, nullptr, 10) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void MemoryTrim::look() {
  const std::uint64_t now = resident_bytes();
  resident_ = std::min(resident_, now);
  if (now < resident_ + kGrowth) return;
  ::malloc_trim(0);
  resident_ = resident_bytes();
}

}  // namespace nutshell::daemon
