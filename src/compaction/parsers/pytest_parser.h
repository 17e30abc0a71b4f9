// Parser for pytest, whatever traceback style was asked for.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser pytest_parser();

}  // namespace nutshell::compaction
