// Parser for gradle: tasks, compile errors, failed tests, what went wrong.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser gradle_parser();

}  // namespace nutshell::compaction
