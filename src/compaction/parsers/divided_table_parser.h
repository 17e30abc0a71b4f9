// Reads large tables whose cells are divided by a character, as psql, sqlite3 and CSV files have
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compaction/parser.h"
#include "compaction/records/record_set.h"

namespace nutshell::compaction {

Parser divided_table_parser();

// The facts of a table that is too large to be shown whole: exceptions, states with their counts, a
// few rows. `other` are the lines around the table.
Facts facts_of_rows(const RecordSet& rows, const std::vector<std::string_view>& other,
                    std::string_view tool);

}  // namespace nutshell::compaction
