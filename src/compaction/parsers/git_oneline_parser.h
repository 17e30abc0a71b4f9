// Parser for `git log --oneline`, with or without --graph, of a long history: commits with tags and
// branches come first, so that no budget hides them.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser git_oneline_parser();

}  // namespace nutshell::compaction
