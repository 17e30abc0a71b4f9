// Restricts the calling thread, and processes it starts, to a few cores while the object lives.
#pragma once

#include <sched.h>

#include <cstdint>

#include "base/result.h"

namespace nutshell::gvisor {

class PinnedCores {
 public:
  // Chooses `count` of the cores that the thread may use now, beginning at a random one.
  static Result<PinnedCores> take(std::uint32_t count);

  PinnedCores(PinnedCores&& other) noexcept;
  PinnedCores& operator=(PinnedCores&&) = delete;
  ~PinnedCores();

 private:
  explicit PinnedCores(const cpu_set_t& before) : before_(before) {}

  cpu_set_t before_;
  bool is_on_ = true;
};

}  // namespace nutshell::gvisor
