// Parser for vitest's default, verbose and basic reporters.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser vitest_parser();

}  // namespace nutshell::compaction
