// What a command of the program is: a name and options hung into the parser, and something to do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/runtime.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the parser's name
class App;
}

namespace nutshell::cli {

// The statuses of our own; a command run in a sandbox has its own, as in a shell.
inline constexpr int kTimedOut = 124;
inline constexpr int kOurError = 125;
inline constexpr int kOutOfMemory = 137;
inline constexpr int kOutputLimit = 153;
inline constexpr int kCancelled = 130;
inline constexpr int kUsageError = 64;  // of `tool`, whose other statuses are a command's
inline constexpr int kToolError = 65;

struct Program {
  Runtime& runtime;
  std::vector<std::string> command;  // to run in the sandbox: what stands behind our own words
  // Set by the command that was chosen; gives the exit status.
  std::function<Result<int>()> chosen;
};

void add_run(CLI::App& app, Program& program);
void add_create(CLI::App& app, Program& program);
void add_exec(CLI::App& app, Program& program);
void add_list(CLI::App& app, Program& program);
void add_info(CLI::App& app, Program& program);
void add_destroy(CLI::App& app, Program& program);
void add_copy(CLI::App& app, Program& program);
void add_pause(CLI::App& app, Program& program);
void add_resume(CLI::App& app, Program& program);
void add_diff(CLI::App& app, Program& program);
void add_apply(CLI::App& app, Program& program);
void add_discard(CLI::App& app, Program& program);
void add_checkpoint(CLI::App& app, Program& program);
void add_rollback(CLI::App& app, Program& program);
void add_fork(CLI::App& app, Program& program);
void add_tool(CLI::App& app, Program& program);
void add_mcp(CLI::App& app, Program& program);
void add_render(CLI::App& app, Program& program);
void add_gain(CLI::App& app, Program& program);
void add_audit(CLI::App& app, Program& program);
void add_history(CLI::App& app, Program& program);
void add_gc(CLI::App& app, Program& program);
void add_doctor(CLI::App& app, Program& program);
void add_version(CLI::App& app, Program& program);
void add_completion(CLI::App& app, Program& program);

}  // namespace nutshell::cli
