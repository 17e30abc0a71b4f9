// Replaces a whole file, or makes one, with bytes that come in parts: a file of any size needs no
// more memory than one part.
#pragma once

#include <memory>

#include "init/conversation/conversation.h"
#include "init/files/files_state.h"
#include "wire/tool_schema.h"

namespace nutshell::init {

std::unique_ptr<Conversation> open_put(std::uint32_t number, const wire::PutFile& request,
                                       FilesState& state);

}  // namespace nutshell::init
