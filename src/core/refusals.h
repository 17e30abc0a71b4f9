// Counts what the kernel refused to a sandbox that went on running.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace nutshell {

// Counted since the sandbox was made; nullopt if it is not counted.
struct Refusals {
  std::optional<std::uint64_t> memory_kills;  // processes killed at the memory limit
  std::optional<std::uint64_t> unreachable;   // packets and connections without a route
  void fields(auto& visit) { visit(memory_kills, unreachable); }
};

// An ability of a backend (core/backend.h).
class RefusalCounter {
 public:
  virtual ~RefusalCounter() = default;
  virtual Result<Refusals> refusals(const std::string& id) = 0;
};

}  // namespace nutshell
