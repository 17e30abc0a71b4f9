// Gives memory that large requests have freed back to the kernel. The allocator keeps freed memory
// in an arena for each few threads, so large requests would leave much of it in every arena: a walk
// that fills every value of every request leaves 47 MiB and its repetition nothing; without this,
// the repetition takes 54 MiB more (every_value_of_every_request_is_bounded).
#pragma once

#include <cstdint>

namespace nutshell::daemon {

class MemoryTrim {
 public:
  // Trims the heap if resident memory has grown by more than kGrowth since the last trim. Called
  // about once a second by one thread.
  void look();

 private:
  static constexpr std::uint64_t kGrowth = 32ULL << 20U;
  std::uint64_t resident_ = 0;  // bytes after the last trim
};

}  // namespace nutshell::daemon
