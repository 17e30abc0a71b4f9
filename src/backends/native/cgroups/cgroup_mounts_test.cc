#include "backends/native/cgroups/cgroup_mounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"

namespace nutshell::native {
namespace {

using testing::ElementsAre;

std::string locate(std::string_view mountinfo, std::string_view own, std::string_view controller) {
  const auto location =
      locate_cgroup(parse_cgroup_mounts(mountinfo), parse_cgroup_memberships(own), controller);
  return location ? location->directory : "nowhere";
}

TEST(CgroupMounts, AreFoundOnAHybridHost) {
  const char* mountinfo =
      "23 1 0:20 / /sys rw,nosuid - sysfs sysfs rw\n"
      "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup "
      "rw,cpu,cpuacct\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:3 - cgroup2 cgroup2 rw,nsdelegate\n";
  const char* own = "4:memory:/jobs/7\n2:cpu,cpuacct:/\n1:name=systemd:/init.scope\n0::/a.scope\n";

  EXPECT_EQ(parse_cgroup_mounts(mountinfo).size(), 3U);
  EXPECT_EQ(locate(mountinfo, own, "memory"), "/sys/fs/cgroup/memory/jobs/7");
  EXPECT_EQ(locate(mountinfo, own, "cpu"), "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(locate(mountinfo, own, "cpuacct"), "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(locate(mountinfo, own, ""), "/sys/fs/cgroup/unified/a.scope");
  EXPECT_EQ(locate(mountinfo, own, "pids"), "nowhere");
}

TEST(CgroupMounts, AreFoundOnAPureV2Host) {
  const char* mountinfo =
      "29 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 "
      "rw,nsdelegate,memory_recursiveprot\n";
  const char* own = "0::/user.slice/user-1000.slice/session-2.scope\n";

  EXPECT_EQ(locate(mountinfo, own, ""),
            "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope");
  EXPECT_EQ(locate(mountinfo, own, "memory"), "nowhere");
}

TEST(CgroupMounts, AreFoundInAContainerThatSeesAPartOfTheHierarchy) {
  const char* mountinfo =
      "700 690 0:32 /docker/abc /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n";

  EXPECT_EQ(locate(mountinfo, "4:memory:/docker/abc\n", "memory"), "/sys/fs/cgroup/memory");
  EXPECT_EQ(locate(mountinfo, "4:memory:/docker/abc/x\n", "memory"), "/sys/fs/cgroup/memory/x");
  EXPECT_EQ(locate(mountinfo, "4:memory:/docker/abcd\n", "memory"), "nowhere");
  EXPECT_EQ(locate(mountinfo, "4:memory:/elsewhere\n", "memory"), "nowhere");
}

TEST(CgroupMounts, OutsideOfOurCgroupNamespaceAreNotGuessed) {
  const char* mountinfo = "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

  EXPECT_EQ(locate(mountinfo, "0::/../../other\n", ""), "nowhere");
}

TEST(CgroupMounts, AreEmptyWhereNothingIsMounted) {
  EXPECT_TRUE(parse_cgroup_mounts("").empty());
  EXPECT_TRUE(parse_cgroup_mounts("23 1 0:20 / /sys rw - sysfs sysfs rw\n - cgroup\n").empty());
  EXPECT_TRUE(parse_cgroup_memberships("nonsense\n1:\n").empty());
}

TEST(CgroupMounts, MayHaveBlanksInTheirPath) {
  const auto mounts =
      parse_cgroup_mounts("29 23 0:26 / /mnt/my\\040cgroups\\134 rw - cgroup2 none rw\n");
  ASSERT_EQ(mounts.size(), 1U);
  EXPECT_EQ(mounts[0].mount_point, "/mnt/my cgroups\\");
  EXPECT_EQ(mounts[0].version, CgroupVersion::V2);
}

TEST(CgroupMemberships, KeepColonsInPaths) {
  const auto memberships = parse_cgroup_memberships("2:cpu,cpuacct:/a:b\n");
  ASSERT_EQ(memberships.size(), 1U);
  EXPECT_THAT(memberships[0].controllers, ElementsAre("cpu", "cpuacct"));
  EXPECT_EQ(memberships[0].path, "/a:b");
}

TEST(CgroupMounts, AtTheUsualPathsAreThoseOfTheMountTable) {
  auto memberships = parse_cgroup_memberships(*read_file("/proc/self/cgroup"));
  std::erase_if(memberships, [](const CgroupMembership& own) {
    return !own.controllers.empty() && own.controllers.front().starts_with("name=");
  });
  const auto usual = usual_cgroup_mounts("/sys/fs/cgroup", memberships);
  if (!usual) GTEST_SKIP() << "this host mounts its cgroups elsewhere, or only a part of them";
  const auto table = parse_cgroup_mounts(*read_file("/proc/self/mountinfo"));

  for (const auto& own : memberships) {
    const std::string controller = own.controllers.empty() ? "" : own.controllers.front();
    const auto expected = locate_cgroup(table, memberships, controller);
    const auto found = locate_cgroup(*usual, memberships, controller);
    ASSERT_TRUE(expected && found) << controller;
    EXPECT_EQ(found->directory, expected->directory);
  }
}

TEST(CgroupMounts, AreNotAssumedAtTheUsualPaths) {
  const auto memberships = parse_cgroup_memberships("4:memory:/jobs\n0::/\n");

  EXPECT_FALSE(usual_cgroup_mounts("/proc", memberships));
  EXPECT_FALSE(usual_cgroup_mounts("/nowhere", memberships));
}

}  // namespace
}  // namespace nutshell::native
