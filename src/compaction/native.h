// Shows the output unchanged: standard output, then standard error. If it exceeds the budget, whole
// lines in the middle are left out.
#pragma once

#include "compaction/captured.h"
#include "compaction/draft.h"

namespace nutshell::compaction {

Draft render_native(const Captured& captured, std::size_t max_tokens);

}  // namespace nutshell::compaction
