// Parses `kubectl describe`: fields without their padding, tables joined by `|`. Counts fields that
// say nothing, ids, and fields that every pod is given.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser kubectl_describe_parser();

}  // namespace nutshell::compaction
