#include <fmt/format.h>

#include "tools/built_in.h"
#include "tools/command_text.h"
#include "tools/git_guard.h"
#include "tools/result_text.h"
#include "tools/shell_words.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

constexpr std::int64_t kTokens = 8000;
constexpr std::chrono::seconds kConfigTime{20};
constexpr std::chrono::seconds kTimeout{120};
constexpr std::chrono::seconds kWait{30};
constexpr std::size_t kMostConfigBytes = 256U << 10U;  // of names

// The names of all settings that hold for this call, or why git cannot be asked.
Result<std::variant<std::string, ToolError>> read_configuration(const GitCommand& command,
                                                                const std::string& directory,
                                                                ToolContext& context) {
  ExecRequest request;
  request.argv = git_config_argv(command);
  request.environment = {"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"};
  request.working_directory = directory;
  request.limits.timeout = kConfigTime;
  request.limits.output_bytes = kMostConfigBytes;
  wire::CapturedOutput io;
  const auto ending = context.init.exec(request, io);
  if (!ending && ending.error().code == ErrorCode::Unavailable) return Failure(ending.error());
  if (!ending)
    return ToolError{"bad_argument", model_text(ending.error().message), {}, "Check `cwd`."};
  if (ending->outcome == Outcome::Exited && ending->exit_code == 127)
    return ToolError{
        "unavailable", "there is no git in this sandbox.", {}, "Use an image that has it."};
  if (ending->outcome == Outcome::Exited && ending->exit_code != 0)
    return ToolError{"bad_argument", "git cannot read the configuration that holds here.",
                     model_text(io.error.substr(0, 500)), "Check `cwd` and the options."};
  if (ending->outcome != Outcome::Exited)
    return ToolError{"permission_denied", "the repository's configuration cannot be checked.",
                     fmt::format("{}: {}", to_string(ending->outcome), model_text(ending->detail)),
                     "Run git with bash."};
  return io.output;
}

std::optional<ToolResult> check(const GitCommand& command, const ToolContext& context) {
  if (command.name.empty() && command.options.empty())
    return bad_argument("`args` is empty.", R"(Give a subcommand, like ["status"].)");
  if (auto error = check_git(command)) return refuse(std::move(*error));
  if (!context.reads_only || reads_only(command)) return std::nullopt;
  return refuse(
      ToolError{"permission_denied",
                fmt::format("git {} is not among what only reads.", visible_name(command.name)),
                "This session may not change anything.", "Use status, diff, log or show."});
}

Result<ToolResult> git(const Arguments& arguments, ToolContext& context) {
  const TextBudget budget(context, arguments, kTokens);
  auto parsed = parse_git(arguments.texts("args"));
  if (auto* error = std::get_if<ToolError>(&parsed)) return refuse(std::move(*error));
  const auto& command = std::get<GitCommand>(parsed);
  if (auto refused = check(command, context)) return std::move(*refused);
  const std::string directory = arguments.text("cwd");
  auto configuration = TRY(read_configuration(command, directory, context));
  if (auto* error = std::get_if<ToolError>(&configuration)) return refuse(std::move(*error));
  const std::string& names = std::get<std::string>(configuration);
  if (auto error = check_configuration(names)) return refuse(std::move(*error));
  CommandRequest request;
  request.argv = guarded_git_argv(command);
  request.environment = guarded_git_environment(command, names);
  request.working_directory = directory;
  request.timeout = kTimeout;
  request.wait = kWait;
  request.reads_only = reads_only(command);
  std::vector<std::string> words = arguments.texts("args");
  words.insert(words.begin(), "git");
  request.shown = join_shell_words(words);
  const CommandState state = TRY(context.commands.run(request));
  CommandTelling telling;
  telling.question = fmt::format("git {} {}", directory, request.shown);
  if (arguments.is_set("raw")) telling.style = OutputRenderer::Style::Raw;
  return tell_command(state, context, budget, telling);
}

}  // namespace

Tool make_git_tool() {
  using enum Parameter::Type;
  using enum Parameter::Presence;
  return {.name = "git",
          .help =
              "Run git. Output of status, diff, log, show, blame and branch is compacted without "
              "dropping changes. Hooks, filters and aliases of the repository do not run.",
          .parameters = {{"args", StringList, Required, "e.g. [\"diff\",\"HEAD~1\"]"},
                         {"cwd", String, Optional},
                         {"raw", Boolean, Optional},
                         max_tokens_parameter(kTokens)},
          .hints = {.is_destructive = true},
          .run = git};
}

}  // namespace nutshell
