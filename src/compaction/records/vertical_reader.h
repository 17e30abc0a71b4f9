// Reads records that stand one below the other with a line for each field: `mysql -E`, `psql -x`,
// /proc/cpuinfo.
#pragma once

#include <optional>

#include "compaction/parser.h"
#include "compaction/records/table_reader.h"

namespace nutshell::compaction {

// Returns nullopt unless nearly all lines are "key: value", "key = value" or "key | value" in
// blocks that begin with the same key.
std::optional<ReadTable> read_vertical_records(Lines lines);

}  // namespace nutshell::compaction
