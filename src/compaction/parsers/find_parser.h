// Parser for find, git ls-files, fd and the like: one path per line, grouped by directory.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser find_parser();

}  // namespace nutshell::compaction
