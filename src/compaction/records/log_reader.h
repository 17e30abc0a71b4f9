// Reads a log into records: lines of JSON, of logfmt (key=value) or of text, with or without words
// in front. Lines that continue a record, such as a stack trace, belong to it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/parser.h"
#include "compaction/records/record_set.h"

namespace nutshell::compaction {

struct ReadLog {
  RecordSet set;           // its places are lines of the output
  std::size_t filled = 0;  // lines that are not blank
  std::size_t json = 0;    // records by form
  std::size_t logfmt = 0;
  std::size_t text = 0;
  std::size_t timed = 0;      // records with a time or a level
  std::size_t continued = 0;  // lines that belong to the record before them
};

// Joins lines to one text, each with a newline.
std::string joined_lines(Lines lines);

// `text` holds the lines, each with its newline; the records keep views of it.
ReadLog read_log(std::string_view text);

}  // namespace nutshell::compaction
