// Facts as text in pieces: each has a head that must be shown and a detail that may be left out.
// Messages that repeat are said once, with every place they were found at.
#pragma once

#include <string>
#include <vector>

#include "compaction/facts.h"

namespace nutshell::compaction {

struct FactBlock {
  std::string head;    // whole lines, each with its newline
  std::string detail;  // the same
  std::string needle;  // stands in the output where this was found
  std::size_t facts = 1;
};

std::vector<FactBlock> failure_blocks(const std::vector<Failure>& failures);
std::vector<FactBlock> diagnostic_blocks(const std::vector<Diagnostic>& diagnostics);

}  // namespace nutshell::compaction
