// Writes paragraphs of "key: value" lines with the same keys as rows of a table.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compaction/like_blocks.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

struct FieldTable {
  std::size_t first = 0;          // index of its first paragraph
  std::string head;               // what all paragraphs share, and the other keys; whole lines
  std::vector<std::string> rows;  // one for each paragraph, without a newline
};

// Finds runs of paragraphs that follow each other and have the same keys in the same order.
std::vector<FieldTable> find_field_tables(Lines lines, const std::vector<LineBlock>& paragraphs);

}  // namespace nutshell::compaction
