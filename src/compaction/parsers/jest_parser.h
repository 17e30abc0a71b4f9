// Parser for jest.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser jest_parser();

}  // namespace nutshell::compaction
