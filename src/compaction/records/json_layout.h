// Writes JSON as indented text: objects as `key: value`, arrays of like objects as tables or, where
// there are many, as a digest of their records. What is not shown is counted, with the call that
// shows it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/facts.h"
#include "core/json_values.h"

namespace nutshell::compaction {

struct LayoutOptions {
  bool is_whole = true;          // show everything but the ends of very long values
  std::size_t few_tokens = 600;  // for what reports nothing special
  std::size_t most_tokens = 4500;
};

struct Layout {
  std::vector<std::string> lines;
  std::size_t records = 0;   // elements of the arrays of objects that were digested
  std::size_t errors = 0;    // objects that report an error
  std::size_t left_out = 0;  // records and members that are not shown
  std::vector<Unshown> unshown;
};

// The values one after the other.
Layout layout_of(const FoundJson& values, const LayoutOptions& options);

}  // namespace nutshell::compaction
