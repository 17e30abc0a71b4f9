#include <fmt/format.h>

#include "tools/built_in.h"
#include "tools/command_text.h"
#include "tools/result_text.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

constexpr std::int64_t kTokens = 4000;
constexpr std::int64_t kWait = 10;

Result<ToolResult> job(const Arguments& arguments, ToolContext& context) {
  const TextBudget budget(context, arguments, kTokens);
  JobRequest request;
  request.id = arguments.text("id");
  request.input = arguments.text("input");
  request.stops = arguments.is_set("stop");
  request.wait = std::chrono::seconds(arguments.integer("wait", kWait));
  const auto state = context.commands.look(request);
  CommandTelling telling;
  telling.ending = CommandTelling::Ending::Told;
  if (state) return tell_command(*state, context, budget, telling);
  if (state.error().code != ErrorCode::NotFound) return Failure(state.error());
  return refuse(
      ToolError{ErrorCode::NotFound, fmt::format("there is no job {}.", visible_name(request.id)),
                model_text(state.error().message), "Start one with bash and a short wait."});
}

}  // namespace

Tool make_job_tool() {
  using enum Parameter::Type;
  using enum Parameter::Presence;
  Parameter input{"input", String, Optional, "For its stdin"};
  input.may_hold_nul = true;
  Parameter wait{"wait", Integer, Optional, "", 0, 600};
  wait.by_default = std::to_string(kWait);
  return {.name = "job",
          .help = "Check, write to or stop a running command; returns output since the last check.",
          .parameters = {{"id", String, Required},
                         input,
                         {"stop", Boolean, Optional},
                         wait,
                         max_tokens_parameter(kTokens)},
          .hints = {},
          .run = job};
}

}  // namespace nutshell
