// Pools: sandboxes that are made before somebody asks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/pool.h"

namespace nutshell::service {

using nutshell::PoolSpec;
using nutshell::PoolStatus;

// Bound when it is acquired. Labels and clocks are bound to a waiting sandbox at once; for the
// others a sandbox is made, which the backend's own spares make nearly as fast.
struct AcquireRequest {
  std::string pool = {};
  std::map<std::string, std::string> labels = {};
  std::optional<std::chrono::milliseconds> ttl = {};
  std::optional<std::chrono::milliseconds> idle_timeout = {};
  std::vector<std::string> environment = {};  // on top of the pool's
  std::string workspace = {};
  std::optional<Limits> limits = {};
  // What it may reach. Empty or "none": nothing, which is all that there is so far.
  std::string network = {};
  // While all of the pool is taken. Zero: not at all.
  std::chrono::milliseconds wait{10'000};
  // Asked now and then while it waits: nothing is handed out to somebody who is gone.
  std::function<bool()> is_wanted = [] { return true; };
  // The same key again gives the same sandbox, also after a restart, as long as it is held.
  std::string idempotency_key = {};
};

}  // namespace nutshell::service
