// Writes many diagnostics densely, for outputs that do not fit otherwise: each message once with a
// letter, then a line for each file with its places and their letters.
#pragma once

#include <cstddef>
#include <vector>

#include "compaction/fact_blocks.h"
#include "compaction/facts.h"

namespace nutshell::compaction {

struct DiagnosticTable {
  std::vector<FactBlock> blocks;  // without details
  std::size_t details = 0;        // lines of detail that the blocks leave out
};

// Messages that differ only in quoted names and in numbers are one: "F401 '…' imported but unused",
// with the names behind each place.
DiagnosticTable diagnostic_table(const std::vector<Diagnostic>& diagnostics);

// Returns the tokens of the heads of all blocks.
std::size_t head_tokens(const std::vector<FactBlock>& blocks);

}  // namespace nutshell::compaction
