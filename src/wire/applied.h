// What apply wrote to the host, told to init: where the workspace is a copy, what it is compared
// with has to follow.
#pragma once

#include <vector>

#include "wire/tool_schema.h"

namespace nutshell::wire {

// Answered by Changes: those that are not any more as they were applied, and stay changes.
struct Applied {
  static constexpr auto kType = static_cast<MessageType>(74);
  std::vector<FileChange> changes;  // parents first
  void fields(auto& visit) { visit(changes); }
};

}  // namespace nutshell::wire
