#include <fmt/format.h>

#include "tools/built_in.h"
#include "tools/command_text.h"
#include "tools/result_text.h"

namespace nutshell {
namespace {

constexpr std::int64_t kTokens = 6000;
constexpr std::int64_t kTimeout = 120;
constexpr std::int64_t kWait = 30;
constexpr std::int64_t kRoomKitTimeout = 30;

Result<std::string> find_shell(ToolContext& context) {
  for (const char* path : {"/bin/bash", "/usr/bin/bash"}) {
    const auto info = context.init.stat_target(path);
    if (info && info->kind == wire::FileKind::Regular) return std::string(path);
    if (!info && info.error().code == ErrorCode::Unavailable) return Failure(info.error());
  }
  return std::string("sh");
}

Result<ToolResult> bash(const Arguments& arguments, ToolContext& context) {
  const TextBudget budget(context, arguments, kTokens);
  const bool is_roomkit = context.dialect == Dialect::RoomKit;
  const std::int64_t timeout =
      arguments.integer("timeout", is_roomkit ? kRoomKitTimeout : kTimeout);
  const std::int64_t wait = arguments.integer("wait", is_roomkit ? timeout : kWait);
  CommandRequest request;
  request.shown = arguments.text("command");
  const std::string shell = TRY(find_shell(context));
  request.argv = {shell, "-c", request.shown};
  request.working_directory = arguments.text("cwd");
  request.timeout = std::chrono::seconds(timeout);
  request.wait = std::chrono::seconds(wait);
  const CommandState state = TRY(context.commands.run(request));
  CommandTelling telling;
  telling.question = fmt::format("bash {} {}", request.working_directory, request.shown);
  if (arguments.is_set("raw")) telling.style = OutputRenderer::Style::Raw;
  return tell_command(state, context, budget, telling);
}

}  // namespace

Tool make_bash_tool() {
  using enum Parameter::Type;
  using enum Parameter::Presence;
  Parameter timeout{"timeout", Integer, Optional, "Seconds", 1, 3600};
  timeout.by_default = std::to_string(kTimeout);
  Parameter wait{"wait", Integer, Optional, "0 = background", 0, 600};
  wait.by_default = std::to_string(kWait);
  return {.name = "bash",
          .help =
              "Run a shell command. There is no network. Output of tests, builds and linters is "
              "compacted; every failure is kept, raw output stays available by id. Still "
              "running after `wait` seconds: returns an id for @job. Prefer @read, @grep, @find "
              "and @ls.",
          .parameters = {{"command", String, Required},
                         {"cwd", String, Optional},
                         timeout,
                         wait,
                         {"raw", Boolean, Optional, "No compaction"},
                         max_tokens_parameter(kTokens)},
          .hints = {.is_destructive = true},
          .run = bash};
}

}  // namespace nutshell
