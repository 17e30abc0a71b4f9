// Parser for grep, rg and git grep: matches below the name of their file.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser grep_parser();

}  // namespace nutshell::compaction
