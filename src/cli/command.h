// The commands of the program. Each adds its name and options to the parser, and sets what to run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "runtime/runtime.h"

namespace nutshell::cli {

// Exit statuses of the program itself. A command in a sandbox passes its own on, as in a shell.
inline constexpr int kTimedOut = 124;
inline constexpr int kOurError = 125;
inline constexpr int kOutOfMemory = 137;
inline constexpr int kOutputLimit = 153;
inline constexpr int kCancelled = 130;
inline constexpr int kUsageError = 64;  // of `tool` and its arguments
inline constexpr int kToolError = 65;

struct Program {
  Runtime& runtime;
  std::vector<std::string> command;  // to run in the sandbox: the words behind our own
  std::string daemon;                // value of --daemon; empty: not given
  // Runs the command that was chosen, which set this; returns the exit status.
  std::function<Result<int>()> chosen;
};

void add_run(const CommandLine& app, Program& program);
void add_create(const CommandLine& app, Program& program);
void add_exec(const CommandLine& app, Program& program);
void add_list(const CommandLine& app, Program& program);
void add_info(const CommandLine& app, Program& program);
void add_stats(const CommandLine& app, Program& program);
void add_destroy(const CommandLine& app, Program& program);
void add_copy(const CommandLine& app, Program& program);
void add_pause(const CommandLine& app, Program& program);
void add_resume(const CommandLine& app, Program& program);
void add_diff(const CommandLine& app, Program& program);
void add_apply(const CommandLine& app, Program& program);
void add_discard(const CommandLine& app, Program& program);
void add_checkpoint(const CommandLine& app, Program& program);
void add_rollback(const CommandLine& app, Program& program);
void add_fork(const CommandLine& app, Program& program);
void add_tool(const CommandLine& app, Program& program);
void add_mcp(const CommandLine& app, Program& program);
void add_render(const CommandLine& app, Program& program);
void add_gain(const CommandLine& app, Program& program);
void add_audit(const CommandLine& app, Program& program);
void add_history(const CommandLine& app, Program& program);
void add_batch(const CommandLine& app, Program& program);
void add_session(const CommandLine& app, Program& program);
void add_pool(const CommandLine& app, Program& program);
void add_daemon(const CommandLine& app, Program& program);
void add_config(const CommandLine& app, Program& program);
void add_gc(const CommandLine& app, Program& program);
void add_doctor(const CommandLine& app, Program& program);
void add_schema(const CommandLine& app, Program& program);
void add_version(const CommandLine& app, Program& program);
void add_completion(const CommandLine& app, Program& program);

}  // namespace nutshell::cli
