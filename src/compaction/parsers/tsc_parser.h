// Parser for the TypeScript compiler, plain and pretty.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser tsc_parser();

}  // namespace nutshell::compaction
