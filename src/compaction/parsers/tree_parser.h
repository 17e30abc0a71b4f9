// tree: blanks for the lines it draws.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser tree_parser();

}  // namespace nutshell::compaction
