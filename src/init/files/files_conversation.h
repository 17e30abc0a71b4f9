// The conversations of the file tools.
#pragma once

#include <memory>

#include "init/conversation/conversation.h"
#include "init/files/files_state.h"
#include "wire/tool_schema.h"

namespace nutshell::init {

// Begins the conversation of the frame. Returns nullptr for other messages.
Result<std::unique_ptr<Conversation>> open_files_conversation(const wire::Frame& frame,
                                                              FilesState& state);

// Does BeginChange and EndChange by copying; `roots` are the directories to copy.
wire::ChangeBegun begin_copied_change(FilesState& state, const wire::BeginChange& request,
                                      const std::vector<std::string>& roots);
Attempt<wire::Changed> end_copied_change(FilesState& state, const wire::EndChange& request);

}  // namespace nutshell::init
