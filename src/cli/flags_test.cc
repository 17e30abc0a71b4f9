#include "cli/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nutshell::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

template <typename Change>
std::string refusal(Change change) {
  Flags flags;
  change(flags);
  const auto spec = to_spec(flags);
  return spec ? "" : spec.error().message;
}

TEST(Flags, WithoutAnyGiveTheSafeDefaults) {
  const auto spec = to_spec(Flags{});
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->limits, Limits{});
  EXPECT_EQ(spec->backend, "native");
}

TEST(Flags, BecomeLimits) {
  Flags flags;
  flags.texts["memory"] = "1g";
  flags.texts["cpus"] = "0.5";
  flags.texts["processes"] = "8";
  flags.texts["ttl"] = "90s";
  flags.lists["label"] = {"a=b=c"};
  const auto spec = to_spec(flags);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->limits.memory_bytes, 1ULL << 30U);
  EXPECT_EQ(spec->limits.millicpus, 500U);
  EXPECT_EQ(spec->limits.processes, 8U);
  EXPECT_EQ(spec->ttl, 90s);
  EXPECT_EQ(spec->labels.at("a"), "b=c");
}

TEST(Flags, WithoutMeaningAreNamedInTheError) {
  EXPECT_THAT(refusal([](Flags& flags) { flags.texts["memory"] = "lots"; }), HasSubstr("--memory"));
  EXPECT_THAT(refusal([](Flags& flags) { flags.texts["cpus"] = "nan"; }), HasSubstr("--cpus"));
  EXPECT_THAT(refusal([](Flags& flags) { flags.texts["cpus"] = "-1"; }), HasSubstr("--cpus"));
  EXPECT_THAT(refusal([](Flags& flags) { flags.texts["processes"] = "1.5"; }),
              HasSubstr("--processes"));
  EXPECT_THAT(refusal([](Flags& flags) { flags.texts["processes"] = "99999999999"; }),
              HasSubstr("--processes"));
  EXPECT_THAT(refusal([](Flags& flags) { flags.texts["ttl"] = "-1s"; }), HasSubstr("--ttl"));
  EXPECT_THAT(refusal([](Flags& flags) { flags.lists["label"] = {"novalue"}; }),
              HasSubstr("--label"));
  EXPECT_THAT(refusal([](Flags& flags) { flags.lists["require"] = {"memory=soft"}; }),
              HasSubstr("--require"));
  EXPECT_THAT(refusal([](Flags& flags) { flags.texts["image"] = ""; }), HasSubstr("--image"));
}

TEST(Flags, TakeAVariableFromOurOwnEnvironmentOnlyWhenNamed) {
  ASSERT_EQ(::setenv("NUTSHELL_FLAGS_TEST", "here", 1), 0);
  Flags flags;
  flags.command = {"env"};
  EXPECT_TRUE(to_exec(flags)->environment.empty());
  flags.lists["env"] = {"NUTSHELL_FLAGS_TEST"};
  EXPECT_THAT(to_exec(flags)->environment, testing::ElementsAre("NUTSHELL_FLAGS_TEST=here"));
  flags.lists["env"] = {"NUTSHELL_NOT_SET_ANYWHERE"};
  EXPECT_FALSE(to_exec(flags));
}

TEST(Flags, DescribeACommand) {
  Flags flags;
  EXPECT_FALSE(to_exec(flags));
  flags.command = {"cat"};
  flags.has_input = true;
  flags.texts["timeout"] = "250ms";
  const auto request = to_exec(flags);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->standard_input, StandardInput::Streamed);
  EXPECT_EQ(request->terminal, Terminal::None);
  EXPECT_EQ(request->limits.timeout, 250ms);
}

TEST(Flags, GiveATerminalNoTimeoutAndAPromptThatNamesTheSandbox) {
  Flags flags;
  flags.command = {"bash"};
  flags.has_terminal = true;
  flags.lists["env"] = {"PS1=mine> "};
  auto request = to_exec(flags);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_GE(request->limits.timeout, 24h);
  ASSERT_GE(request->environment.size(), 2U);
  EXPECT_THAT(request->environment[0], HasSubstr("sandbox"));
  EXPECT_EQ(request->environment[1], "PS1=mine> ");  // a later one counts
  flags.texts["timeout"] = "5s";
  request = to_exec(flags);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->limits.timeout, 5s);
}

TEST(Flags, KeepCachesOnlyIfAsked) {
  Flags flags;
  EXPECT_EQ(to_spec(flags)->keep_caches, KeepCaches::No);
  flags.texts["keep-caches"] = "yes";
  flags.texts["workspace"] = "/tmp";
  EXPECT_EQ(to_spec(flags)->keep_caches, KeepCaches::Yes);
  flags.texts["keep-caches"] = "always";
  EXPECT_FALSE(to_spec(flags));
}

TEST(Flags, WorkspaceModeWithoutAWorkspaceSaysWhatIsMissing) {
  EXPECT_THAT(refusal([](Flags& flags) { flags.texts["workspace-mode"] = "copy"; }),
              HasSubstr("add --workspace DIR"));
  EXPECT_THAT(refusal([](Flags& flags) { flags.texts["workspace-mode"] = "magic"; }),
              HasSubstr("auto, overlay or copy"));
}

}  // namespace
}  // namespace nutshell::cli
