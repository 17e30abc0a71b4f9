// Parser for `node --test`, spec and TAP.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser node_test_parser();

}  // namespace nutshell::compaction
