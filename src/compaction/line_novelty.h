// Finds the lines that say something new when an output has to be cut: frames that every thread's
// stack ends with, or fields that are equal in all entries, repeat what was shown.
#pragma once

#include <vector>

#include "compaction/parser.h"

namespace nutshell::compaction {

// Returns for each line whether it holds a word that stands in no line before it. Addresses and
// numbers of up to two digits do not count as words.
std::vector<bool> find_novel(Lines lines);

}  // namespace nutshell::compaction
