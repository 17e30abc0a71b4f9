// The conversations of ListDirectory, FindFiles and Search.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "init/conversation/conversation.h"

namespace nutshell::init {

struct SearchState {
  std::string working_directory = "/workspace";  // relative paths begin here
  int memory_priority = -1;                      // init's own oom_score_adj, or none
  unsigned running = 0;                          // workers

  [[nodiscard]] bool is_busy() const { return running > 0; }
};

// Fails with Cancelled for other messages. The state must outlive the conversation.
Result<std::unique_ptr<Conversation>> open_search_conversation(const wire::Frame& frame,
                                                               SearchState& state);

}  // namespace nutshell::init
