#include "cli/suggestion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace nutshell::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Suggestion, NamesTheOptionThatWasMeant) {
  CLI::App app;
  CLI::App* run = app.add_subcommand("run");
  std::string memory;
  run->add_option("--memory", memory);
  EXPECT_THAT(unknown_option(*run, "--memroy=1g"),
              HasSubstr("unknown option '--memroy': did you mean --memory?"));
  EXPECT_THAT(unknown_option(*run, "--zzzz"), Not(HasSubstr("did you mean")));
}

TEST(Suggestion, NamesTheCommandThatWasMeantOrHowToRunAProgram) {
  CLI::App app;
  app.add_subcommand("destroy");
  EXPECT_THAT(unknown_command(app, "destory"), HasSubstr("did you mean 'destroy'?"));
  EXPECT_THAT(unknown_command(app, "python3"), HasSubstr("nutshell run -- python3"));
}

}  // namespace
}  // namespace nutshell::cli
