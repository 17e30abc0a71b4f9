// The text that a model reads about a command, ended or still running.
#pragma once

#include <string>

#include "tools/text_budget.h"
#include "tools/tool_context.h"

namespace nutshell {

struct CommandTelling {
  OutputRenderer::Style style = OutputRenderer::Style::Compact;
  std::string question;  // equal for equal calls; empty: never answer "unchanged"
};

Result<ToolResult> tell_command(const CommandState& state, ToolContext& context,
                                const TextBudget& budget, const CommandTelling& telling);

}  // namespace nutshell
