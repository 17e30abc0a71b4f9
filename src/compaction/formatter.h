// Facts to text within a budget. Packing order: failures, diagnostics, kept lines, sections. When
// they do not fit, details go first, then whole facts, and what is missing is said with the call
// that shows it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compaction/facts.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

struct FormatInput {
  const Facts& facts;
  Lines lines;  // the output the facts are from: tells where a missing fact stands
  std::size_t max_tokens;
  const std::string& recall_id;
};

struct Formatted {
  std::string text;
  std::vector<Omission> omitted;
  std::size_t next = 0;  // line of the first thing that has no room; 0: all has
  bool is_cut = false;   // facts are missing for want of room
};

Formatted format_facts(const FormatInput& input);

// " (left out: 78 passing tests, 4 progress lines)", which goes behind a call in the status line
std::string omission_note(const std::vector<Omission>& omitted);

// "(left out: 78 passing tests, 4 progress lines; recall o7f3a)"
std::string omission_line(const std::vector<Omission>& omitted, const std::string& call);

}  // namespace nutshell::compaction
