// Parser for GoogleTest programs.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser gtest_parser();

}  // namespace nutshell::compaction
