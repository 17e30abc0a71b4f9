// Parser for git status, the long form: the branch, then each class of change with its paths; no
// advice.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser git_status_parser();

}  // namespace nutshell::compaction
