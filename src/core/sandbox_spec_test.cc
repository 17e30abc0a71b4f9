#include "core/sandbox_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nutshell {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

template <typename Change>
bool is_accepted(Change change) {
  SandboxSpec spec;
  change(spec);
  return check_spec(spec).has_value();
}

TEST(SandboxSpec, DefaultsAreAccepted) {
  EXPECT_TRUE(check_spec(SandboxSpec{}));
}

TEST(SandboxSpec, RefusesTimesThatMakeNoSense) {
  EXPECT_FALSE(is_accepted([](SandboxSpec& spec) { spec.ttl = 0ms; }));
  EXPECT_FALSE(is_accepted([](SandboxSpec& spec) { spec.ttl = 24h * 366; }));
  EXPECT_FALSE(is_accepted([](SandboxSpec& spec) { spec.idle_timeout = -1ms; }));
  EXPECT_TRUE(is_accepted([](SandboxSpec& spec) { spec.idle_timeout = 0ms; }));
}

TEST(SandboxSpec, RefusesADirectoryThatIsNotAbsolute) {
  EXPECT_FALSE(is_accepted([](SandboxSpec& spec) { spec.working_directory = ""; }));
  EXPECT_FALSE(is_accepted([](SandboxSpec& spec) { spec.working_directory = "work"; }));
}

TEST(SandboxSpec, RefusesLabelsThatCouldNotBeFoundAgain) {
  EXPECT_TRUE(is_accepted([](SandboxSpec& spec) { spec.labels["a.b/c-d_1"] = "any thing = ok"; }));
  EXPECT_FALSE(is_accepted([](SandboxSpec& spec) { spec.labels[""] = "x"; }));
  EXPECT_FALSE(is_accepted([](SandboxSpec& spec) { spec.labels["a b"] = "x"; }));
  EXPECT_FALSE(is_accepted([](SandboxSpec& spec) { spec.labels["nutshell.owner"] = "x"; }));
  EXPECT_FALSE(is_accepted([](SandboxSpec& spec) { spec.labels["a"] = std::string(257, 'x'); }));
  EXPECT_FALSE(is_accepted([](SandboxSpec& spec) { spec.labels["a"] = std::string("x\0y", 3); }));
  EXPECT_FALSE(is_accepted([](SandboxSpec& spec) { spec.labels[std::string(64, 'x')] = ""; }));
}

TEST(SandboxSpec, RefusesMoreLabelsThanAnyoneNeeds) {
  EXPECT_FALSE(is_accepted([](SandboxSpec& spec) {
    for (int i = 0; i < 65; ++i)
      spec.labels[std::to_string(i)] = "";
  }));
}

TEST(Requirements, AreNamesWithAnOptionalStrength) {
  const auto parsed = parse_requirements("seccomp,memory=hard,pids=watched");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const std::vector<Requirement> expected = {{"seccomp", false}, {"memory", true}, {"pids", false}};
  EXPECT_EQ(*parsed, expected);
  EXPECT_TRUE(parse_requirements("")->empty());
}

TEST(Requirements, RefuseWhatIsNoName) {
  for (const char* text : {",", "=hard", "memory=", "memory=soft", "a,,b", "memory=hard=hard"}) {
    EXPECT_FALSE(parse_requirements(text)) << text;
  }
}

TEST(KeptCaches, BelongToAWorkspace) {
  SandboxSpec spec;
  spec.keep_caches = KeepCaches::Yes;
  EXPECT_FALSE(check_spec(spec));
  spec.workspace = "/project";
  EXPECT_TRUE(check_spec(spec));
}

TEST(Mounts, LieAtPlainPathsThatTheSandboxDoesNotUseItself) {
  const auto is_accepted = [](std::vector<Mount> mounts) {
    SandboxSpec spec;
    spec.mounts = std::move(mounts);
    return static_cast<bool>(check_spec(spec));
  };
  EXPECT_TRUE(is_accepted({{"/home/me/.pyenv", "/home/me/.pyenv"}, {"/opt/go", "/workspaces/go"}}));
  for (const char* target :
       {"/", "", "x", "/a/", "/a//b", "/a/./b", "/a/../b", "/a/..", "/proc", "/proc/1", "/dev/shm",
        "/tmp", "/tmp/x", "/var/tmp/x", "/workspace", "/workspace/x", "/sys", "/.nutshell/bin"})
    EXPECT_FALSE(is_accepted({{"/srv", target}})) << target;
  EXPECT_FALSE(is_accepted({{"/a", "/x"}, {"/b", "/x"}}));
}

TEST(SandboxSpec, RefusesLongTextsInTheListsOfItsNetwork) {
  const std::string longest(1024, 'x');
  const auto refusal = [](auto change) {
    SandboxSpec spec;
    change(spec.network);
    const auto checked = check_spec(spec);
    return checked ? "" : checked.error().message;
  };
  EXPECT_THAT(refusal([&](auto& network) { network.allow = {longest + "x"}; }),
              HasSubstr("a rule has more than 1024 bytes"));
  EXPECT_THAT(refusal([&](auto& network) { network.caches = {longest}; }),
              HasSubstr("the name of a cache has more than"));
  EXPECT_THAT(refusal([&](auto& network) {
                network.secrets.emplace_back().hosts = {"a.org", longest + "x"};
              }),
              HasSubstr("a host of a secret has more than 1024 bytes"));
}

}  // namespace
}  // namespace nutshell
