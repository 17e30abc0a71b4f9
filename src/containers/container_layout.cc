#include "containers/container_layout.h"

#include <algorithm>

namespace nutshell::containers {

ScratchSizes scratch_sizes(std::uint64_t disk_bytes, std::uint64_t memory_bytes) {
  constexpr std::uint64_t kPage = 4096;
  constexpr std::uint64_t kMostSharedMemory = 64U << 20U;
  const std::uint64_t quarter = disk_bytes / 4 / kPage * kPage;
  const std::uint64_t shared =  // a disk limit is at least 16 pages, so this is at least one
      std::min({kMostSharedMemory, memory_bytes / 8, quarter / 4}) / kPage * kPage;
  return {disk_bytes - quarter, quarter - shared, shared};
}

}  // namespace nutshell::containers
