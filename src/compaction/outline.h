// Renders an output that no parser knows: its diagnostics grouped, its errors with heading and
// body, its totals, and its other lines with like ones folded. If that does not fit the budget,
// errors and totals come first.
#pragma once

#include <cstddef>
#include <string>

#include "compaction/captured.h"
#include "compaction/draft.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

struct OutlineInput {
  Lines lines;
  std::size_t max_tokens;
  const std::string& recall_id;
  std::size_t first_line = 0;  // of `lines` in the whole output, counted from 0
};

struct Outline {
  std::string text;
  std::vector<Omission> omitted;
  std::size_t next = 0;    // the first line that is not shown, counted from 1; 0: none
  bool is_cut = false;     // it did not fit the budget
  bool has_error = false;  // it shows an error, a diagnostic or a verdict
  std::size_t folded = 0;  // lines that other lines stand for
  std::size_t diagnostics = 0;
};

Outline make_outline(const OutlineInput& input);

Draft render_outline(const Captured& captured, const OutlineInput& input, std::size_t raw_tokens);

}  // namespace nutshell::compaction
