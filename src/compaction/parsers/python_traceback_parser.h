// Parser for a Python program that ended in a traceback.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser python_traceback_parser();

}  // namespace nutshell::compaction
