// What was printed, as it was printed: standard output, then standard error. Only the budget cuts
// it, in the middle, at whole lines.
#pragma once

#include "compaction/captured.h"
#include "compaction/draft.h"

namespace nutshell::compaction {

Draft render_native(const Captured& captured, std::size_t max_tokens);

}  // namespace nutshell::compaction
