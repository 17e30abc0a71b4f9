// Reads coverage reports: `coverage report`, Istanbul's table (nyc, c8) and `go tool cover -func`.
// Rows that are covered whole are counted; the others and the sums stay.
#pragma once

#include "compaction/parser.h"

namespace nutshell::compaction {

Parser coverage_parser();

}  // namespace nutshell::compaction
