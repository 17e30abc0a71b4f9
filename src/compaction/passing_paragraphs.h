// Finds paragraphs that only say that a check passed.
#pragma once

#include <vector>

#include "compaction/like_blocks.h"
#include "compaction/line_roles.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

// Returns paragraphs of a heading, one line that says that it passed, and details, if several begin
// with the same word.
std::vector<LineBlock> passing_paragraphs(Lines lines, const std::vector<Role>& roles);

}  // namespace nutshell::compaction
