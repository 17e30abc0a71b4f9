// Takes a change back: everything it did, if everything is still as it left it.
#pragma once

#include "init/files/files_state.h"
#include "wire/tool_schema.h"

namespace nutshell::init {

Attempt<wire::Changed> undo_change(FilesState& state, const wire::Undo& request);

}  // namespace nutshell::init
