// Counts what the kernel refused to a sandbox that went on all the same. A backend that can count
// it implements RefusalCounter too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace nutshell {

// Counts since the sandbox was made; nullopt if the backend does not count them.
struct Refusals {
  std::optional<std::uint64_t> memory_kills;  // processes killed at the memory limit
  std::optional<std::uint64_t> unreachable;   // attempts to reach an unreachable address
  void fields(auto& visit) { visit(memory_kills, unreachable); }
};

class RefusalCounter {
 public:
  virtual ~RefusalCounter() = default;
  virtual Result<Refusals> refusals(const std::string& id) = 0;
};

}  // namespace nutshell
