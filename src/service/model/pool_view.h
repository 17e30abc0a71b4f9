// Pools as a caller of the service sees them.
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

// Request for a sandbox of a pool. Labels and clocks are set on an idle sandbox. With environment,
// workspace or limits a sandbox is made, which the backend's spares make nearly as fast.
struct AcquireRequest {
  std::string pool = {};
  std::map<std::string, std::string> labels = {};
  std::optional<std::chrono::milliseconds> ttl = {};
  std::optional<std::chrono::milliseconds> idle_timeout = {};
  std::vector<std::string> environment = {};  // on top of the pool's
  std::string workspace = {};
  std::optional<Limits> limits = {};
  // The only network is "none", also if this is empty.
  std::string network = {};
  // How long to wait while all of the pool is taken.
  std::chrono::milliseconds wait{10'000};
  // Called now and then while the request waits; false if the client is gone.
  std::function<bool()> is_wanted = [] { return true; };
  // The same key gives the same sandbox, also after a restart, until the sandbox is released.
  std::string idempotency_key = {};
};

}  // namespace nutshell::service
