// Parser for the Java compiler.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser javac_parser();

}  // namespace nutshell::compaction
