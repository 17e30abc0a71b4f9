// Finds paragraphs that say the same about different things: threads with equal stacks, requests,
// steps of a build.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compaction/like_lines.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

// Consecutive lines of an output.
struct LineBlock {
  std::size_t first = 0;
  std::size_t lines = 0;
};

struct BlockFold {
  std::string note;  // " (×30 alike; also pool-2, pool-3)", for the first block's first line
  std::vector<std::size_t> members;  // indices of the blocks, at least four; the first is shown
};

// Groups of blocks that differ only in addresses and times, and in up to three names or numbers,
// which the note lists.
std::vector<BlockFold> fold_blocks(Lines lines, const std::vector<LineBlock>& blocks,
                                   Listing listing);

}  // namespace nutshell::compaction
