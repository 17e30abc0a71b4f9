// Parser for git blame: the commit, author and day once for each run of lines they hold for.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser git_blame_parser();

}  // namespace nutshell::compaction
