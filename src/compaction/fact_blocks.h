// Turns facts into blocks of text. Each block has a head that must be shown and a detail that may
// be left out. A repeated message appears once, with all its places.
#pragma once

#include <string>
#include <vector>

#include "compaction/facts.h"

namespace nutshell::compaction {

struct FactBlock {
  std::string head;    // whole lines, each with its newline
  std::string detail;  // likewise
  std::string needle;  // text that marks its place in the output
  std::size_t facts = 1;
};

std::vector<FactBlock> failure_blocks(const std::vector<Failure>& failures);

// Returns each diagnostic once: dotnet and others print all of them again at the end.
std::vector<Diagnostic> distinct_diagnostics(const std::vector<Diagnostic>& diagnostics);

std::vector<FactBlock> diagnostic_blocks(const std::vector<Diagnostic>& diagnostics);

}  // namespace nutshell::compaction
