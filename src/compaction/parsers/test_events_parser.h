// Parser for `go test -json`: the output of each package is put together again and read as that of
// `go test -v`.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser test_events_parser();

}  // namespace nutshell::compaction
