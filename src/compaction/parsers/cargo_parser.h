// Parser for cargo build, check, clippy, run and test.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser cargo_parser();

}  // namespace nutshell::compaction
