// Writes some records of a set as lines: what they share once, then a table of what differs, or one
// line of fields for each.
#pragma once

#include <string>
#include <vector>

#include "compaction/records/record_text.h"

namespace nutshell::compaction {

enum class RecordPlace : std::uint8_t {
  None,
  Line,   // "17: …": line of the output, from 1
  Index,  // "[17] …": element of an array, from 0
};

std::string place_text(const Record& record, RecordPlace place);

struct RowsInput {
  const RecordSet& set;
  const std::vector<std::size_t>& chosen;  // indices of records
  const HiddenColumns& hidden;             // columns that are said elsewhere
  RecordPlace place = RecordPlace::None;
  std::size_t most_tokens = 0;
};

struct Rows {
  std::vector<std::string> lines;
  std::size_t shown = 0;  // records
};

Rows rows_of(const RowsInput& input);

}  // namespace nutshell::compaction
