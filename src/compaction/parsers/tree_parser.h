// Parser for tree, whose names are joined by directory, and for npm ls.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser tree_parser();

}  // namespace nutshell::compaction
