// Parser for cmake's configure step.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser cmake_parser();

}  // namespace nutshell::compaction
