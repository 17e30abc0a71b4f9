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
};

// Adds to `reason` one clause for each parser that was asked.
std::optional<Draft> render_typed(const TypedInput& input, std::string& reason);

// Formats facts; nullopt, with the cause in `reason`, if they do not explain the status or lose
// error lines.
std::optional<Draft> draft_of(const Facts& facts, std::string_view name, const TypedInput& input,
                              std::string& reason);

}  // namespace nutshell::compaction
