// The conversations about layers: what a command changed, what is different from the base,
// checkpoints.
#pragma once

#include <memory>

#include "init/conversation.h"
#include "init/files/files_state.h"
#include "init/layers/layer_stack.h"

namespace nutshell::init {

// Does what the frame asks, or begins to. Null: the message is not one of these, or is to be done
// without layers.
Result<std::unique_ptr<Conversation>> open_layers_conversation(const wire::Frame& frame,
                                                               LayerStack& stack,
                                                               FilesState& files);

}  // namespace nutshell::init
