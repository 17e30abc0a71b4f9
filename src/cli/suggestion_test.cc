#include "cli/suggestion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace nutshell::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kWords = {"memory", "pids", "timeout"};

TEST(Suggestion, IsTheClosestWord) {
  EXPECT_EQ(closest("memroy", kWords), "memory");
  EXPECT_EQ(closest("timout", kWords), "timeout");
  EXPECT_EQ(closest("pid", kWords), "pids");
}

TEST(Suggestion, IsNotAWildGuess) {
  EXPECT_EQ(closest("", kWords), "");
  EXPECT_EQ(closest("zebra", kWords), "");
  EXPECT_EQ(closest("memory", {}), "");
}

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
