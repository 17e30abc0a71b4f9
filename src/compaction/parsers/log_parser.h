// Reads logs: JSON lines, logfmt and lines with a time or level, with the stack traces between
// them.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser log_parser();

}  // namespace nutshell::compaction
