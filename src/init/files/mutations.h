// The tools that change one place: edit and remove. Each is done whole or not at all, and keeps the
// old state in the journal.
//
// A file is replaced by a new one that takes its name, with its permissions and owner; a link that
// leads to it stays. If a file has several names (hard links), the others keep the old content.
// Extended attributes are not kept.
#pragma once

#include "init/files/files_state.h"
#include "wire/tool_schema.h"

namespace nutshell::init {

Attempt<wire::Changed> edit_file(FilesState& state, const wire::EditFile& request);
Attempt<wire::Changed> remove_file(FilesState& state, const wire::Remove& request);

}  // namespace nutshell::init
