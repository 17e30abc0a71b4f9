// Finds the diagnostics of an output that no parser knows, in all the layouts that tools print them
// in.
#pragma once

#include "compaction/line_roles.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

// Adds the diagnostics, and marks the lines that they stand for. Blank lines must be marked.
void find_diagnostics(Lines lines, LineRoles& found);

}  // namespace nutshell::compaction
