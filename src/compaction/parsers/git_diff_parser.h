// Parser for git diff and diff -u; see git_patch.h.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser git_diff_parser();

}  // namespace nutshell::compaction
