// JSON without its layout: every key and value stays.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser json_parser();

}  // namespace nutshell::compaction
