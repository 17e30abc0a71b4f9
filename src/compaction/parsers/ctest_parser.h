// Parser for ctest, with and without the output of failed tests.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser ctest_parser();

}  // namespace nutshell::compaction
