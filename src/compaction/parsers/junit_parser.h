// Parser for JUnit's console launcher, and JUnit 4's text runner.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser junit_parser();

}  // namespace nutshell::compaction
