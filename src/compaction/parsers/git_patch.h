// A unified diff with every changed line, one line of context around it unless that is blank, and
// one line per file where git prints four.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compaction/facts.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

struct Patch {
  std::vector<Section> sections;  // one for each file
  std::uint64_t files = 0;
  std::uint64_t added = 0;
  std::uint64_t removed = 0;
  std::uint64_t left_out = 0;  // lines of context and of git's headings
};

// Reads from `at`, which it moves behind the patch; nullopt if the patch is of an unknown kind.
std::optional<Patch> read_patch(Lines lines, std::size_t& at);

bool is_gofmt_diff(std::string_view line);
bool starts_patch(std::string_view line);

}  // namespace nutshell::compaction
