#include "backends/native/cgroups/cgroup_places.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "backends/native/cgroups/cgroup_name.h"
#include "base/scratch_fixture.h"

namespace nutshell::native {
namespace {

namespace fs = std::filesystem;

// Plain directories stand for cgroups: a group without processes is removed by rmdir(2) alone.
class CgroupPlacesTest : public testing::Test {
 protected:
  CgroupPlacesTest() : directory_{scratch_ / "runtime"} { fs::create_directory(directory_.path); }

  CgroupHost place(const char* name) {
    fs::create_directories(scratch_ / name);
    return CgroupHost::reopen({{CgroupVersion::V1, (scratch_ / name).native()}});
  }
  fs::path group_of_dead_owner(const char* name) {
    CgroupName owner = *cgroup_owner();
    ++owner.start_time;  // another process with this pid
    fs::path group = scratch_ / name / "nutshell" / to_string(owner);
    fs::create_directories(group);
    return group;
  }
  [[nodiscard]] std::size_t records() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_.path / "cgroups"), {}));
  }

  ScratchDirectory scratch_;
  RuntimeDirectory directory_;
};

TEST_F(CgroupPlacesTest, SweepFindsGroupsMadeBelowAnotherCgroup) {
  ASSERT_TRUE(record_cgroup_places(directory_, place("session-1.scope")));
  const fs::path left = group_of_dead_owner("session-1.scope");
  const auto report = sweep_all_cgroups(directory_, place("session-2.scope"), SweepMode::Remove);
  EXPECT_EQ(report.removed.size(), 1U);
  EXPECT_TRUE(report.failed.empty());
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(CgroupPlacesTest, DryRunReportsAndRemovesNothing) {
  ASSERT_TRUE(record_cgroup_places(directory_, place("session-1.scope")));
  const fs::path left = group_of_dead_owner("session-1.scope");
  const auto report = sweep_all_cgroups(directory_, place("session-2.scope"), SweepMode::DryRun);
  EXPECT_EQ(report.removed.size(), 1U);
  EXPECT_TRUE(fs::exists(left));
}

TEST_F(CgroupPlacesTest, GroupsOfLivingOwnersStay) {
  ASSERT_TRUE(record_cgroup_places(directory_, place("session-1.scope")));
  const fs::path ours = scratch_ / "session-1.scope" / "nutshell" / to_string(*cgroup_owner());
  fs::create_directories(ours);
  const auto report = sweep_all_cgroups(directory_, place("session-2.scope"), SweepMode::Remove);
  EXPECT_TRUE(report.removed.empty());
  EXPECT_TRUE(fs::exists(ours));
}

TEST_F(CgroupPlacesTest, PlaceIsRecordedOnceAndForgottenWhenItIsGone) {
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(record_cgroup_places(directory_, place("session-1.scope")));
  EXPECT_EQ(records(), 1U);
  fs::remove_all(scratch_ / "session-1.scope");
  (void)sweep_all_cgroups(directory_, place("session-2.scope"), SweepMode::Remove);
  EXPECT_EQ(records(), 0U);
}

TEST_F(CgroupPlacesTest, PlaceIsStillSweptWhenAnotherOfTheSameRecordIsGone) {
  for (const char* name : {"memory", "pids"})
    fs::create_directories(scratch_ / name);
  ASSERT_TRUE(record_cgroup_places(
      directory_, CgroupHost::reopen({{CgroupVersion::V1, (scratch_ / "memory").native()},
                                      {CgroupVersion::V1, (scratch_ / "pids").native()}})));
  fs::remove_all(scratch_ / "memory");
  (void)sweep_all_cgroups(directory_, place("own"), SweepMode::Remove);
  EXPECT_EQ(records(), 1U);
  const fs::path left = group_of_dead_owner("pids");
  (void)sweep_all_cgroups(directory_, place("own"), SweepMode::Remove);
  EXPECT_EQ(records(), 1U);
  EXPECT_FALSE(fs::exists(left));
}

}  // namespace
}  // namespace nutshell::native
