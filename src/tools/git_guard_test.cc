#include "tools/git_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nutshell {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

GitCommand command_of(const std::vector<std::string>& args) {
  auto parsed = parse_git(args);
  return std::get<GitCommand>(parsed);
}

TEST(ParseGit, FindsTheSubcommandBehindTheOptions) {
  const GitCommand command =
      command_of({"-C", "sub", "--no-pager", "-c", "a.b=c", "log", "-n", "1"});
  EXPECT_THAT(command.options, ElementsAre("-C", "sub", "--no-pager", "-c", "a.b=c"));
  EXPECT_EQ(command.name, "log");
  EXPECT_THAT(command.words, ElementsAre("-n", "1"));
}

TEST(ParseGit, RefusesOtherProgramsInGitsPlace) {
  const auto parsed = parse_git({"--exec-path=/workspace/bin", "status"});
  EXPECT_TRUE(std::holds_alternative<ToolError>(parsed));
}

TEST(CheckGit, RefusesWhatStartsConfiguredPrograms) {
  EXPECT_TRUE(check_git(command_of({"difftool"})));
  EXPECT_TRUE(check_git(command_of({"-C", "x", "mergetool"})));
  EXPECT_FALSE(check_git(command_of({"diff"})));
}

TEST(ReadsOnly, KnowsWhatChangesNothing) {
  EXPECT_TRUE(reads_only(command_of({"status"})));
  EXPECT_TRUE(reads_only(command_of({"-C", "x", "log", "-n", "1"})));
  EXPECT_TRUE(reads_only(command_of({"branch", "-a"})));
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"commit"},
                                             {"diff", "--output=x"},
                                             {"branch", "-D", "x"},
                                             {"branch", "x"},
                                             {"-c", "core.fsmonitor=x", "status"},
                                             {"stash"},
                                             {"tag", "v1"},
                                             {"log", "-o", "x"},
                                             {"grep", "-Ovi", "x"},
                                             {"--git-dir=/x", "status"},
                                             {}}) {
    EXPECT_FALSE(reads_only(command_of(args))) << testing::PrintToString(args);
  }
}

TEST(GuardedGit, TurnsDriversOfDiffsOff) {
  EXPECT_THAT(guarded_git_argv(command_of({"diff", "HEAD"})),
              ElementsAre("git", "diff", "--no-ext-diff", "--no-textconv",
                          "--ignore-submodules=dirty", "HEAD"));
  EXPECT_THAT(guarded_git_argv(command_of({"-C", "x", "blame", "a"})),
              ElementsAre("git", "-C", "x", "blame", "--no-textconv", "a"));
  EXPECT_THAT(guarded_git_argv(command_of({"commit", "-m", "x"})),
              ElementsAre("git", "commit", "-m", "x"));
}

TEST(GuardedGit, OverridesWhatTheRepositoryNames) {
  const std::string names = std::string("filter.lfs.clean\0", 17) +
                            std::string("submodule.a.update\0", 19) +
                            std::string("user.name\0", 10) + std::string("alias.st", 8);
  const auto variables = guarded_git_environment(command_of({"status"}), names);
  EXPECT_THAT(variables, Contains("GIT_CONFIG_KEY_0=filter.lfs.clean"));
  EXPECT_THAT(variables, Contains("GIT_CONFIG_VALUE_0="));
  EXPECT_THAT(variables, Contains("GIT_CONFIG_VALUE_1=checkout"));
  EXPECT_THAT(variables, Contains("GIT_CONFIG_KEY_2=alias.st"));
  EXPECT_THAT(variables, Not(Contains(HasSubstr("user.name"))));
  EXPECT_THAT(variables, Contains("GIT_CONFIG_KEY_3=core.fsmonitor"));
  EXPECT_THAT(variables, Contains("GIT_TERMINAL_PROMPT=0"));
}

TEST(CheckConfiguration, RefusesWhatCannotBeOverridden) {
  EXPECT_FALSE(check_configuration(std::string("core.bare\0remote.origin.url\0", 29)));
  const auto error = check_configuration(std::string("a.b\0remote.o.uploadpack\0", 25));
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what, HasSubstr("remote.o.uploadpack"));
}

}  // namespace
}  // namespace nutshell
