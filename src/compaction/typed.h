// Asks the typed parsers in the registry's order. Drops the result of a parser that refuses, cannot
// explain a failing status or loses lines that look like errors.
#pragma once

#include <optional>
#include <string>

#include "compaction/captured.h"
#include "compaction/draft.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

struct TypedInput {
  const Captured& captured;
  const CommandWords& command;
  Lines lines;
  std::size_t max_tokens;
  std::size_t first_line = 0;  // of `lines` in the whole output, counted from 0
};

// A parser's facts as text, without the status line.
struct Report {
  std::string summary;  // "pytest: 2 failed, 3 passed"
  std::string text;
  std::vector<Omission> omitted;
  std::size_t next = 0;  // the line to continue from, counted from 1; 0: nothing is cut
  std::string parser;
};

// Adds to `reason` one clause for each parser that was asked.
std::optional<Report> report_typed(const TypedInput& input, std::string& reason);

// Formats facts; nullopt, with the cause in `reason`, if they do not explain the status or lose
// error lines.
std::optional<Report> report_of(const Facts& facts, std::string_view name, const TypedInput& input,
                                std::string& reason);

// Puts the status in front. The call for what is left out stands there too, or in the last line if
// the text is cut.
Draft draft_of(Report report, const Captured& captured);

}  // namespace nutshell::compaction
