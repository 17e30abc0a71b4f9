// Parser for mocha's spec and dot reporters.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser mocha_parser();

}  // namespace nutshell::compaction
