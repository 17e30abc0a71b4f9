// The conversations about layers: what a command changed, what is different from the base,
// checkpoints.
#pragma once

#include <memory>

#include "init/conversation/conversation.h"
#include "init/files/files_state.h"
#include "init/layers/layer_stack.h"

namespace nutshell::init {

// Called before the frame is handled. If the frame may change files, this settles what a killed
// caller left half-done: a proposed layer is adopted if it is mounted and withdrawn if not, and a
// change that no caller will end is ended.
Result<> prepare_for(const wire::Frame& frame, LayerStack& stack, FilesState& files);

// Begins the conversation of the frame. Returns nullptr if it is another message, or if it must be
// done without layers.
Result<std::unique_ptr<Conversation>> open_layers_conversation(const wire::Frame& frame,
                                                               LayerStack& stack,
                                                               FilesState& files);

}  // namespace nutshell::init
