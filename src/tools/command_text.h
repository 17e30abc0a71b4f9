// The text that a model reads about a command, ended or still running.
#pragma once

#include <cstdint>
#include <string>

#include "tools/text_budget.h"
#include "tools/tool_context.h"

namespace nutshell {

struct CommandTelling {
  OutputRenderer::Style style = OutputRenderer::Style::Compact;
  // A job's caller has to learn that it has ended, and how.
  enum class Ending : std::uint8_t { AsRendered, Told } ending = Ending::AsRendered;
  std::string question;  // equal for equal calls; empty: never answer "unchanged"
};

Result<ToolResult> tell_command(const CommandState& state, ToolContext& context,
                                const TextBudget& budget, const CommandTelling& telling);

}  // namespace nutshell
