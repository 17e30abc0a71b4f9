#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "cli/commands/command_fixture.h"

namespace nutshell::cli {

Ran run_command(Add add, std::vector<std::string> words, Program& program) {
  CLI::App app;
  add(CommandLine(&app, CommandFlags::Built), program);
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const CLI::ParseError& problem) {
    return {-1, "", problem.what()};
  }
  testing::internal::CaptureStdout();
  const auto status = program.chosen();
  std::fflush(stdout);
  Ran ran{status ? *status : -1, testing::internal::GetCapturedStdout(), ""};
  if (!status) ran.error = status.error().message;
  return ran;
}

}  // namespace nutshell::cli
