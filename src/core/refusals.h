// What the kernel refused to a sandbox that went on all the same. A backend that can count it is a
// RefusalCounter too; others are not asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace nutshell {

// Since the sandbox was made; what is not counted is not there.
struct Refusals {
  std::optional<std::uint64_t> memory_kills;  // processes, at the memory limit
  std::optional<std::uint64_t> unreachable;   // attempts to reach what there is no way to
  void fields(auto& visit) { visit(memory_kills, unreachable); }
};

class RefusalCounter {
 public:
  virtual ~RefusalCounter() = default;
  virtual Result<Refusals> refusals(const std::string& id) = 0;
};

}  // namespace nutshell
