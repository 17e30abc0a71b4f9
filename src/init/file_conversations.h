// Files of the sandbox, read, written and walked by init itself: a path that a stranger chose can
// lead nowhere but into the sandbox, because init has no other view.
#pragma once

#include <memory>

#include "init/conversation.h"

namespace nutshell::init {

// Does what the frame asks, or begins to.
Result<std::unique_ptr<Conversation>> open_file_conversation(const wire::Frame& frame);

}  // namespace nutshell::init
