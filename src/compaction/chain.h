// Renders the output of several programs: each segment by its own parser or as an outline, below a
// line that names its command.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "compaction/captured.h"
#include "compaction/draft.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

struct ChainInput {
  const Captured& captured;
  Lines lines;
  std::size_t error_line;  // where standard error begins
  std::size_t max_tokens;
};

// nullopt if the output seems to be one program's, or if the command failed and no segment says
// why. Adds to `reason` which lines were taken for what, and why.
std::optional<Draft> render_chain(const ChainInput& input, std::string& reason);

}  // namespace nutshell::compaction
