// Asks the typed parsers in their order. One that refuses, cannot explain a failing status or loses
// lines that look like errors is passed over.
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

// `reason` gets one clause for every parser that was asked.
std::optional<Draft> render_typed(const TypedInput& input, std::string& reason);

// Facts to text, unless they cannot explain the status or lose error lines; then `reason` says so.
std::optional<Draft> draft_of(const Facts& facts, std::string_view name, const TypedInput& input,
                              std::string& reason);

}  // namespace nutshell::compaction
