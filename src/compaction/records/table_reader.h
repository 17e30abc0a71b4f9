// Reads tables whose cells are divided by a character: psql, sqlite3, mysql, Markdown, CSV, TSV.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compaction/parser.h"
#include "compaction/records/record_set.h"

namespace nutshell::compaction {

struct ReadTable {
  RecordSet set;                        // its places are lines of the output
  std::vector<std::string_view> other;  // lines before and behind the rows, such as "(40 rows)"
};

// "----+-----", "| --- | --- |" and "├──┼──┤"
bool is_table_rule(std::string_view line);

// Returns nullopt unless nearly all lines are rows of one table with a heading. `first_line` is
// that of `lines` in the whole output, counted from 0.
std::optional<ReadTable> read_divided_table(Lines lines, std::size_t first_line = 0);

}  // namespace nutshell::compaction
