// Parser for eslint's stylish, compact and unix formats.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser eslint_parser();

}  // namespace nutshell::compaction
