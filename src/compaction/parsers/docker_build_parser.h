// docker build with BuildKit's plain progress: the steps and how each ended, without transfers.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser docker_build_parser();

}  // namespace nutshell::compaction
