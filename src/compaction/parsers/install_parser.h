// Parser for npm, pip, uv, apt and cargo install: what was installed, without how it was fetched.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser install_parser();

}  // namespace nutshell::compaction
