// Tells init which changes `apply` wrote to the host: where the workspace is a copy, init compares
// it with the host's files, and has to know their new state.
#pragma once

#include <vector>

#include "wire/tool_schema.h"

namespace nutshell::wire {

// Answered by Changes: the files that were changed again since they were applied.
struct Applied {
  static constexpr auto kType = static_cast<MessageType>(74);
  std::vector<FileChange> changes;  // parents first
  void fields(auto& visit) { visit(changes); }
};

}  // namespace nutshell::wire
