// When memory runs out, the kernel should kill a child of init, not init: a child starts with the
// value that init has at that moment. It is only a preference: a child that changes its value can
// at most end its own sandbox.
#pragma once

#include <unistd.h>

#include <string_view>

namespace nutshell::init {

inline constexpr std::string_view kKilledFirst = "500";
inline constexpr std::string_view kKilledLast = "0";

// `fd` is init's own oom_score_adj, open for writing, or -1.
inline void set_memory_priority(int fd, std::string_view value) {
  if (fd >= 0) (void)!::pwrite(fd, value.data(), value.size(), 0);
}

}  // namespace nutshell::init
