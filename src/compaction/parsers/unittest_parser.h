// Parser for Python's unittest.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser unittest_parser();

}  // namespace nutshell::compaction
