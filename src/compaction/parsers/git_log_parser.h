// Parser for git log and git show: one line per commit, grouped by author and day. Bodies of many
// commits are left out and counted; the body of the one commit of `git show` is what was asked for
// and stays.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser git_log_parser();

}  // namespace nutshell::compaction
