// Writes many diagnostics densely: each message once with a letter, then a line for each file with
// its places and their letters.
#pragma once

#include <cstddef>
#include <vector>

#include "compaction/fact_blocks.h"
#include "compaction/facts.h"

namespace nutshell::compaction {

struct DiagnosticBlocks {
  std::vector<FactBlock> blocks;
  std::size_t details = 0;  // lines of detail that a table leaves out
  bool is_table = false;
};

// Messages that differ only in quoted names and in numbers are one: "F401 '…' imported but unused",
// with the names behind each place.
DiagnosticBlocks diagnostic_table(const std::vector<Diagnostic>& diagnostics);

// Returns diagnostic_blocks, or the table: if only that fits, or if there are many diagnostics
// without details and the table is much smaller.
DiagnosticBlocks blocks_within(const std::vector<Diagnostic>& diagnostics, std::size_t max_tokens);

}  // namespace nutshell::compaction
