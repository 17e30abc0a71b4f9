// Pools: sandboxes that are made before they are asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/field.h"
#include "core/sandbox_spec.h"

namespace nutshell {

// A pool as an operator writes it into the daemon's settings.
struct PoolSpec {
  std::string name;
  SandboxSpec spec;  // its ttl and idle timeout begin when it is acquired
  std::uint32_t min_idle = 0;
  std::uint32_t max_idle = 5;
  std::uint32_t max_total = 20;
  std::chrono::milliseconds idle_timeout{600'000};
  std::vector<std::string> tenants;

  static constexpr NounInfo kNoun{"PoolSpec", "A pool of the daemon's settings."};
  static void describe(auto&& field, auto& pool) {
    field({.number = 1, .name = "name", .presence = Presence::Required}, pool.name);
    field({.number = 2, .name = "spec", .help = "of each of its sandboxes"}, pool.spec);
    field({.number = 3, .name = "min_idle", .help = "sandboxes that always wait, ready"},
          pool.min_idle);
    field({.number = 4, .name = "max_idle", .help = "the most that wait"}, pool.max_idle);
    field({.number = 5, .name = "max_total", .help = "the most there are, those in use included"},
          pool.max_total);
    field({.number = 6,
           .name = "spare_timeout_ms",
           .help = "how long a sandbox above min_idle waits for somebody"},
          pool.idle_timeout);
    field({.number = 7, .name = "tenants", .help = "who may use it; empty: all"}, pool.tenants);
  }
};

struct PoolStatus {
  std::string name;
  std::uint32_t total = 0;
  std::uint32_t available = 0;
  std::uint32_t in_use = 0;
  std::uint32_t waiting = 0;
  std::uint32_t min_idle = 0;
  std::uint32_t max_idle = 0;
  std::uint32_t max_total = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::string trouble;

  static constexpr NounInfo kNoun{"Pool", "A pool of sandboxes that are made ahead.",
                                  Direction::Given};
  static void describe(auto&& field, auto& pool) {
    field({.number = 1, .name = "name", .presence = Presence::Required}, pool.name);
    field({.number = 2, .name = "total", .help = "available, in use and being made"}, pool.total);
    field({.number = 3, .name = "available", .help = "sandboxes that wait"}, pool.available);
    field({.number = 4, .name = "in_use", .help = "sandboxes that somebody has acquired"},
          pool.in_use);
    field({.number = 5, .name = "min_idle", .help = "sandboxes that always wait, ready"},
          pool.min_idle);
    field({.number = 6, .name = "max_idle", .help = "the most that wait"}, pool.max_idle);
    field({.number = 7, .name = "max_total", .help = "the most there are"}, pool.max_total);
    field({.number = 8, .name = "hits", .help = "acquired from those that waited"}, pool.hits);
    field({.number = 9, .name = "misses", .help = "made while the caller waited"}, pool.misses);
    field({.number = 10, .name = "trouble", .help = "why the last refill failed"},
          OnlyIf{pool.trouble, !pool.trouble.empty()});
    field({.number = 11, .name = "waiting", .help = "callers, while all of it is taken"},
          pool.waiting);
  }
};

}  // namespace nutshell
