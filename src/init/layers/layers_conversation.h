// The conversations about layers: what a command changed, what is different from the base,
// checkpoints.
#pragma once

#include <memory>

#include "init/conversation/conversation.h"
#include "init/files/files_state.h"
#include "init/layers/layer_stack.h"

namespace nutshell::init {

// Before anything is done about the frame. If it may change files, what was left half-done by a
// caller that was killed is settled: a layer that was asked for is known to be mounted or is
// withdrawn, and a change that nobody will end is ended.
Result<> prepare_for(const wire::Frame& frame, LayerStack& stack, FilesState& files);

// Does what the frame asks, or begins to. Null: the message is not one of these, or is to be done
// without layers.
Result<std::unique_ptr<Conversation>> open_layers_conversation(const wire::Frame& frame,
                                                               LayerStack& stack,
                                                               FilesState& files);

}  // namespace nutshell::init
