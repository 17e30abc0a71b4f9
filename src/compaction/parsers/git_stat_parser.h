// Reads the rows that git prints for changed files with --stat, --numstat and --name-status.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser git_stat_parser();

}  // namespace nutshell::compaction
