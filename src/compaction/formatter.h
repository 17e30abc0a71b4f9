// Formats facts within a budget, in the order failures, diagnostics, kept lines, sections. If they
// do not fit, it leaves out details first, then whole facts, and names the call that shows what is
// missing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compaction/facts.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

struct FormatInput {
  const Facts& facts;
  Lines lines;  // the whole output, to find the line of a fact that is left out
  std::size_t max_tokens;
  const std::string& recall_id;
  std::size_t first_line = 0;  // of `lines` in the whole output, counted from 0
};

struct Formatted {
  std::string text;
  std::vector<Omission> omitted;
  std::size_t next = 0;  // line of the first fact that did not fit; 0 if all did
  bool is_cut = false;   // facts are missing because they did not fit
};

Formatted format_facts(const FormatInput& input);

// Adds an omission; numbers of equal kinds are added up.
void add_to(std::vector<Omission>& omitted, const Omission& more);

// " (left out: 78 passing tests, 4 progress lines)", which follows a call in the status line
std::string omission_note(const std::vector<Omission>& omitted);

// "(left out: 78 passing tests, 4 progress lines; recall o7f3a)"
std::string omission_line(const std::vector<Omission>& omitted, const std::string& call);

}  // namespace nutshell::compaction
