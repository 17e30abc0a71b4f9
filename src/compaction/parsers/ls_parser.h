// Parser for ls: names and sizes of the long form, names side by side of the short one.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser ls_parser();

}  // namespace nutshell::compaction
