// Reads a page of lines from a text file.
#pragma once

#include "init/files/files_state.h"
#include "wire/tool_schema.h"

namespace nutshell::init {

// A binary file gives a page without lines: its type, size and version.
Attempt<wire::TextPage> read_text(const FilesState& state, const wire::ReadText& request);

}  // namespace nutshell::init
