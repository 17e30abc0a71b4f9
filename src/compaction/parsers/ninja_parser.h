// Parser for ninja, also -v and inside `cmake --build`.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser ninja_parser();

}  // namespace nutshell::compaction
