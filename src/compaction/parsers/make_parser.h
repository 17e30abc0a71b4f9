// Parser for make: recipes and sub-makes around whatever compilers and tools print.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser make_parser();

}  // namespace nutshell::compaction
