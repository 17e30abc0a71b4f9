// When a sandbox in a container is over, as it was last told: the container's labels cannot be
// changed. Lies beside what else this user keeps of his sandboxes.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "core/backend.h"

namespace nutshell::docker {

struct KeptClock {
  std::chrono::milliseconds over_at{0};  // since 1970; nobody may need it any more after that
  std::chrono::milliseconds left{-1};    // while it is paused: of its ttl; else negative
  bool is_halted = false;                // paused by init, because its engine has no freezer

  [[nodiscard]] bool is_still() const { return left.count() >= 0; }
  [[nodiscard]] std::chrono::milliseconds left_at(std::chrono::milliseconds now) const;
};

Result<> keep_clock(const std::string& id, const KeptClock& clock);
// NotFound where nothing was kept: what the labels say holds.
Result<KeptClock> kept_clock(const std::string& id);
void forget_clock(const std::string& id);

// What is kept of sandboxes that ended by themselves, some time after their end.
void sweep_kept(SweepMode mode, SweepReport& report);

}  // namespace nutshell::docker
