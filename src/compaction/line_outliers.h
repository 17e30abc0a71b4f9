// Finds the lines that differ from the many lines around them: of a form that few others have, or
// with a value that is rare in its column. They are shown first if not all lines fit.
#pragma once

#include <vector>

#include "compaction/parser.h"

namespace nutshell::compaction {

// One flag per line. `is_asked` says which lines are looked at; empty if nothing stands out.
std::vector<bool> find_outliers(Lines lines, const std::vector<bool>& is_asked);

}  // namespace nutshell::compaction
