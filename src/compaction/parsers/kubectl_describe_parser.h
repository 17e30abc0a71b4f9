// What `kubectl describe` prints: fields without their padding, tables joined by `|`. Fields that
// say nothing, ids and what every pod is given are counted.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser kubectl_describe_parser();

}  // namespace nutshell::compaction
