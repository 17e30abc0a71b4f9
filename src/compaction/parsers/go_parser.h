// Parser for go build, vet, run and test.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser go_parser();

}  // namespace nutshell::compaction
