// The one message about a sandbox's clock: for backends that have no other way to tell init.
// Answered by Done. Its type is next to those of schema.h, which few need to know it.
#pragma once

#include <cstdint>

#include "wire/schema.h"

namespace nutshell::wire {

// The ttl is over this long from now. Where the host keeps the ttl too, the earlier end counts.
struct SetTimeLeft {
  static constexpr auto kType = static_cast<MessageType>(33);
  std::uint64_t left_ms = 0;
  void fields(auto& visit) { visit(left_ms); }
};

}  // namespace nutshell::wire
