// Pools: sandboxes that are made before somebody asks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/sandbox_spec.h"

namespace nutshell::service {

struct PoolSpec {
  std::string name;
  SandboxSpec spec;  // its ttl and idle timeout begin when it is acquired
  std::uint32_t min_idle = 0;
  std::uint32_t max_idle = 5;
  std::uint32_t max_total = 20;
  std::chrono::milliseconds idle_timeout{600'000};  // of one that waits, above min_idle
  std::vector<std::string> tenants;                 // empty: all
};

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

struct PoolStatus {
  std::string name;
  std::uint32_t total = 0;  // available, in use and being made
  std::uint32_t available = 0;
  std::uint32_t in_use = 0;
  std::uint32_t waiting = 0;  // callers, while all of it is taken
  std::uint32_t min_idle = 0;
  std::uint32_t max_idle = 0;
  std::uint32_t max_total = 0;
  std::uint64_t hits = 0;    // acquired from what waited
  std::uint64_t misses = 0;  // made while the caller waited
  std::string trouble;       // why the last refill failed; empty: it did not
};

}  // namespace nutshell::service
