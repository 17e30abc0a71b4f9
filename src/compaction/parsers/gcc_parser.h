// Parser for gcc, clang and the linkers they call.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser gcc_parser();

}  // namespace nutshell::compaction
