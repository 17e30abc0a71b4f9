// Columns under a heading, as docker, kubectl and ps print them: a column that is the same in all
// rows is said once, padding goes.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser table_parser();

}  // namespace nutshell::compaction
