#include "backends/native/cgroups/cgroup_sweep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "backends/native/cgroups/cgroup.h"
#include "backends/native/cgroups/cgroup_name.h"
#include "base/file.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;

// Makes its groups below a cgroup of its own, where no other sweep on the machine looks.
class CgroupSweepTest : public testing::Test {
 protected:
  void SetUp() override {
    real_ = CgroupHost::find();
    if (real_.version() == CgroupVersion::None) {
      GTEST_SKIP() << "no cgroup can be made here: " << real_.why_not();
    }
    leaf_ = fmt::format("nutshell-test.{}", ::getpid());
    std::string mountinfo;
    std::string memberships;
    for (const auto& place : real_.places()) {
      ASSERT_EQ(::mkdirat(place.directory.get(), leaf_.c_str(), 0755), 0) << place.path;
      const bool is_v2 = place.version == CgroupVersion::V2;
      const std::string controllers = is_v2 ? "" : controllers_of(place.roles);
      mountinfo += fmt::format("1 1 0:1 / {}/{} rw - {} none rw,{}\n", place.path, leaf_,
                               is_v2 ? "cgroup2" : "cgroup", controllers);
      memberships += fmt::format("1:{}:/\n", controllers);
    }
    host_ = CgroupHost::find_in(mountinfo, memberships);
    ASSERT_EQ(host_.places().size(), real_.places().size()) << host_.why_not();
  }

  void TearDown() override {
    for (const auto& place : real_.places()) {
      EXPECT_TRUE(remove_directory(place.directory.get(), leaf_, Deadline::in(1s)));
    }
  }

  static std::string controllers_of(const CgroupRoles& roles) {
    std::string names;
    if (roles.memory) names += "memory,";
    if (roles.pids) names += "pids,";
    if (roles.cpu) names += "cpu,";
    if (roles.cpu_time) names += "cpuacct,";
    if (roles.freezer) names += "freezer,";
    return names;
  }

  // Returns the name of a group whose owner has just died. `leave` runs in the owner, inside the
  // group.
  std::string make_orphan(void (*leave)(Cgroup&)) {
    int channel[2];
    if (::pipe(channel) != 0) return {};
    const pid_t owner = ::fork();
    if (owner == 0) {
      auto cgroup = Cgroup::create(host_, *cgroup_owner_name() + ".1");
      if (cgroup) leave(*cgroup);
      const std::string name = cgroup ? cgroup->name() : "none";
      ::_exit(write_all(channel[1], name) && cgroup ? 0 : 1);
    }
    std::array<char, 128> name{};
    const ssize_t size = ::read(channel[0], name.data(), name.size());
    ::close(channel[0]);
    ::close(channel[1]);
    int status = -1;
    EXPECT_EQ(::waitpid(owner, &status, 0), owner);
    EXPECT_EQ(status, 0);
    return {name.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

  [[nodiscard]] bool exists(const std::string& name) const {
    const auto path = fmt::format("{}/{}", kCgroupParent, name);
    bool is_anywhere = false;
    for (const auto& place : host_.places()) {
      is_anywhere |= ::faccessat(place.directory.get(), path.c_str(), F_OK, 0) == 0;
    }
    return is_anywhere;
  }

  void make_directory(const std::string& name) {
    for (const auto& place : host_.places()) {
      ::mkdirat(place.directory.get(), kCgroupParent, 0755);
      const auto path = fmt::format("{}/{}", kCgroupParent, name);
      ASSERT_EQ(::mkdirat(place.directory.get(), path.c_str(), 0755), 0);
    }
  }

  [[nodiscard]] bool has_parent() const {
    bool is_anywhere = false;
    for (const auto& place : host_.places()) {
      is_anywhere |= ::faccessat(place.directory.get(), kCgroupParent, F_OK, 0) == 0;
    }
    return is_anywhere;
  }

  CgroupHost real_;
  CgroupHost host_;
  std::string leaf_;
};

void leave_empty(Cgroup& /*cgroup*/) {}

void leave_sleeper(Cgroup& cgroup) {
  if (::fork() != 0) {
    while (cgroup.process_count().value_or(0) == 0)
      ::usleep(100);
    return;
  }
  if (Cgroup::join_by(cgroup.join_descriptors()) != 0) ::_exit(1);
  ::close(STDOUT_FILENO);
  for (int fd = 3; fd < 64; ++fd)
    ::close(fd);  // among them the end of the test's pipe
  for (;;)
    ::pause();
}

void leave_frozen_sleeper(Cgroup& cgroup) {
  leave_sleeper(cgroup);
  EXPECT_TRUE(cgroup.freeze(Deadline::in(2s)));
}

TEST_F(CgroupSweepTest, RemovesWhatADeadOwnerLeftAndTheParent) {
  const auto name = make_orphan(leave_empty);
  ASSERT_TRUE(exists(name));
  const auto report = sweep_cgroups(host_, SweepMode::Remove);
  EXPECT_THAT(report.removed, Contains(name));
  EXPECT_THAT(report.failed, IsEmpty());
  EXPECT_FALSE(exists(name));
  EXPECT_FALSE(has_parent());
}

TEST_F(CgroupSweepTest, DryRunReportsAndRemovesNothing) {
  const auto name = make_orphan(leave_empty);
  EXPECT_THAT(sweep_cgroups(host_, SweepMode::DryRun).removed, Contains(name));
  EXPECT_TRUE(exists(name));
}

TEST_F(CgroupSweepTest, KillsWhatADeadOwnerLeftRunning) {
  const auto name = make_orphan(leave_sleeper);
  const auto report = sweep_cgroups(host_, SweepMode::Remove);
  EXPECT_THAT(report.failed, IsEmpty());
  EXPECT_FALSE(exists(name));
}

TEST_F(CgroupSweepTest, KillsWhatADeadOwnerLeftFrozen) {
  if (!host_.has_freezer()) GTEST_SKIP() << "no freezer: " << host_.why_not();
  const auto name = make_orphan(leave_frozen_sleeper);
  const auto report = sweep_cgroups(host_, SweepMode::Remove);
  EXPECT_THAT(report.failed, IsEmpty());
  EXPECT_FALSE(exists(name));
}

TEST_F(CgroupSweepTest, RemovesAGroupThatWasHalfMade) {
  auto name = *cgroup_owner();
  name.start_time -= 1;  // an earlier process with this pid
  const auto path = fmt::format("{}/{}", kCgroupParent, to_string(name));
  const int place = host_.places().back().directory.get();
  ASSERT_EQ(::mkdirat(place, kCgroupParent, 0755), 0);
  ASSERT_EQ(::mkdirat(place, path.c_str(), 0755), 0);
  EXPECT_THAT(sweep_cgroups(host_, SweepMode::Remove).removed, Contains(to_string(name)));
  EXPECT_FALSE(has_parent());
}

TEST_F(CgroupSweepTest, LeavesTheLivingAndTheUnknownAlone) {
  auto cgroup = Cgroup::create(host_, *cgroup_owner_name() + ".1");
  ASSERT_TRUE(cgroup) << cgroup.error().message;
  auto foreign = *cgroup_owner();
  foreign.pid_namespace += 1;
  foreign.start_time -= 1;
  make_directory(to_string(foreign));
  make_directory("somebody-elses");

  const auto report = sweep_cgroups(host_, SweepMode::Remove);

  EXPECT_THAT(report.removed, IsEmpty());
  EXPECT_THAT(report.failed, IsEmpty());
  EXPECT_TRUE(exists(cgroup->name()));
  EXPECT_TRUE(exists(to_string(foreign)));
  EXPECT_TRUE(exists("somebody-elses"));
}

}  // namespace
}  // namespace nutshell::native
