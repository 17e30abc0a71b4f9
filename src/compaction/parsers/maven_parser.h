// Parser for maven: compiler plugin, surefire and failed goals.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser maven_parser();

}  // namespace nutshell::compaction
