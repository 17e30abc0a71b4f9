#include "backends/native/start/abilities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backends/native/filters/rlimits.h"

namespace nutshell::native {
namespace {

using testing::HasSubstr;
using testing::Not;

// A host without cgroups.
Abilities poor_host() {
  Abilities abilities;
  abilities.landlock = 1;
  abilities.cores = 2;
  return abilities;
}

Protection named(const Protections& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Protection& item) { return item.name == name; });
  return found == all.end() ? Protection{} : *found;
}

std::string problems(const Abilities& abilities, const SandboxSpec& spec) {
  const auto checked = check_protections(protections_for(abilities, spec), spec);
  return checked ? "" : checked.error().message;
}

TEST(Abilities, WithoutCgroupsMemoryIsOnlyWatchedAndSaysSo) {
  const Protections all = protections_for(poor_host(), {});
  EXPECT_EQ(named(all, "memory").strength, Strength::Watched);
  EXPECT_NE(named(all, "memory").fix, "");
  EXPECT_EQ(named(all, "cgroup").strength, Strength::Missing);
  EXPECT_EQ(named(all, "processes").strength, Strength::Hard);
  EXPECT_EQ(problems(poor_host(), {}), "");
}

TEST(Abilities, ProtectionsHaveDistinctNames) {
  std::set<std::string> names;
  for (const Protection& one : protections_for(poor_host(), {}))
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
}

TEST(Abilities, FractionOfACoreIsWatchedWithoutACgroup) {
  SandboxSpec spec;
  spec.limits.millicpus = 500;
  EXPECT_EQ(problems(poor_host(), spec), "");
  EXPECT_EQ(named(protections_for(poor_host(), spec), "cpus").strength, Strength::Watched);
  spec.requirements = {{"cpus", true}};
  EXPECT_THAT(problems(poor_host(), spec), HasSubstr("--require cpus=hard: only watched here"));
  spec.limits.millicpus = 2000;
  EXPECT_EQ(problems(poor_host(), spec), "");
}

TEST(Abilities, MissingLandlockRefusesUnlessWaived) {
  Abilities abilities = poor_host();
  abilities.landlock = 0;
  SandboxSpec spec;
  EXPECT_THAT(problems(abilities, spec), HasSubstr("landlock"));
  // Without Landlock, init cannot count mappings of /dev/zero.
  spec.unsafe_without = {"landlock"};
  EXPECT_THAT(problems(abilities, spec), HasSubstr("--unsafe-without memory"));
  spec.unsafe_without = {"landlock", "memory"};
  EXPECT_EQ(problems(abilities, spec), "");
}

TEST(Abilities, OnlyThreeProtectionsCanBeWaived) {
  SandboxSpec spec;
  spec.unsafe_without = {"seccomp"};
  EXPECT_THAT(problems(poor_host(), spec), HasSubstr("only landlock, locks, memory can be waived"));
}

TEST(Abilities, CountsByUserAreTheSandboxsOwnOnlyAsRoot) {
  Abilities abilities = poor_host();
  const auto strength = [&] {
    const Protections list = protections_for(abilities, {});
    return std::find_if(list.begin(), list.end(),
                        [](const Protection& item) { return item.name == "user_counts"; })
        ->strength;
  };
  abilities.privilege = Privilege::Rootless;
  EXPECT_EQ(strength(), Strength::Missing);
  abilities.privilege = Privilege::Root;
  EXPECT_EQ(strength(), Strength::Hard);
}

TEST(Abilities, APlainUsersSandboxOpensFewFilesUnlessMoreThanTheDefaultIsAskedFor) {
  Limits limits;
  EXPECT_EQ(allowed_open_files(limits, Privilege::Root), limits.open_files);
  EXPECT_EQ(allowed_open_files(limits, Privilege::Rootless), limits.open_files / 2);
  limits.open_files = 77;
  EXPECT_EQ(allowed_open_files(limits, Privilege::Rootless), 77U);
  limits.open_files = 4096;
  EXPECT_EQ(allowed_open_files(limits, Privilege::Rootless), 4096U);
}

TEST(Abilities, DescriptorsInFlightAreMissingOnlyWithManyOpenFiles) {
  Abilities abilities = poor_host();
  abilities.privilege = Privilege::Rootless;
  SandboxSpec spec;
  const auto text_of = [&](const std::string& name) {
    for (const Protection& item : protections_for(abilities, spec)) {
      if (item.name == name) return item.by + item.fix;
    }
    return std::string();
  };
  EXPECT_THAT(text_of("open_files"), HasSubstr("RLIMIT_NOFILE of 512"));
  EXPECT_THAT(text_of("user_counts"), Not(HasSubstr("in flight")));
  spec.limits.open_files = 4096;
  EXPECT_EQ(text_of("open_files"), "RLIMIT_NOFILE");
  EXPECT_THAT(text_of("user_counts"), HasSubstr("in flight"));
}

TEST(Abilities, RequirementThatIsNotMetRefuses) {
  SandboxSpec spec;
  spec.requirements = {{"memory", true}, {"cgroup", false}, {"moat", false}, {"seccomp", true}};
  const std::string text = problems(poor_host(), spec);
  EXPECT_THAT(text, HasSubstr("--require memory=hard: only watched here"));
  EXPECT_THAT(text, HasSubstr("--require cgroup: missing here"));
  EXPECT_THAT(text, HasSubstr("--require moat: no such protection"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);  // one line each; seccomp is kept
}

TEST(Abilities, EveryProtectionSaysByWhatOrWhyNot) {
  for (const Protection& item : protections_for(poor_host(), {})) {
    EXPECT_FALSE(item.by.empty() && item.fix.empty()) << item.name;
  }
}

}  // namespace
}  // namespace nutshell::native
