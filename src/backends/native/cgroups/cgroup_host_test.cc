#include "backends/native/cgroups/cgroup_host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>

#include "backends/native/cgroups/cgroup.h"
#include "backends/native/cgroups/cgroup_name.h"
#include "backends/native/cgroups/cgroup_v2_place.h"
#include "base/file.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Plain directories stand for hierarchies: these tests check where CgroupHost looks.
class CgroupHostTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "cgroup_host_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string mount(const std::string& directory, const std::string& options) {
    std::filesystem::create_directories(root_ / directory);
    const char* type = options == "rw" ? "cgroup2" : "cgroup";
    return fmt::format("32 31 0:29 / {} rw - {} none {}\n", (root_ / directory).native(), type,
                       options);
  }

  std::filesystem::path root_;
};

TEST_F(CgroupHostTest, HasNothingWhereNothingIsMounted) {
  const auto host = CgroupHost::find_in("", "0::/\n");
  EXPECT_EQ(host.version(), CgroupVersion::None);
  EXPECT_FALSE(host.has_memory() || host.has_pids() || host.has_cpu() || host.has_freezer());
  EXPECT_THAT(host.why_not(), HasSubstr("no mounted cgroup file system"));
}

TEST_F(CgroupHostTest, UsesOneDirectoryForControllersMountedTogether) {
  const auto text = mount("cpu,cpuacct", "rw,cpu,cpuacct") + mount("memory", "rw,memory");
  const auto host = CgroupHost::find_in(text, "2:cpu,cpuacct:/\n3:memory:/\n");
  EXPECT_EQ(host.version(), CgroupVersion::V1);
  EXPECT_TRUE(host.has_memory() && host.has_cpu());
  EXPECT_FALSE(host.has_pids() || host.has_freezer());
  ASSERT_EQ(host.places().size(), 2U);
  EXPECT_TRUE(host.places()[1].roles.cpu && host.places()[1].roles.cpu_time);
  EXPECT_THAT(host.why_not(), HasSubstr("controller pids is not mounted"));
  EXPECT_THAT(host.why_not(), HasSubstr("controller freezer is not mounted"));
}

TEST_F(CgroupHostTest, PrefersV2ForFreezingBesideV1Controllers) {
  const auto text = mount("pids", "rw,pids") + mount("freezer", "rw,freezer") + mount("v2", "rw");
  const auto host = CgroupHost::find_in(text, "2:pids:/\n3:freezer:/\n0::/\n");
  EXPECT_EQ(host.version(), CgroupVersion::V1);
  ASSERT_EQ(host.places().size(), 2U);
  EXPECT_EQ(host.places()[1].version, CgroupVersion::V2);
  EXPECT_TRUE(host.places()[1].roles.freezer);
}

TEST_F(CgroupHostTest, LooksUnderItsOwnCgroup) {
  const auto text = mount("memory", "rw,memory");
  std::filesystem::create_directories(root_ / "memory/jobs/7");
  const auto host = CgroupHost::find_in(text, "3:memory:/jobs/7\n");
  ASSERT_EQ(host.places().size(), 1U);
  EXPECT_EQ(host.places()[0].path, (root_ / "memory/jobs/7").native());
}

TEST_F(CgroupHostTest, SaysWhichDirectoryIsMissing) {
  const auto host = CgroupHost::find_in(mount("memory", "rw,memory"), "3:memory:/gone\n");
  EXPECT_EQ(host.version(), CgroupVersion::None);
  EXPECT_THAT(host.why_not(), HasSubstr("memory/gone: No such file or directory"));
}

TEST_F(CgroupHostTest, SaysWhichDirectoryIsNotWritable) {
  const auto text = mount("memory", "rw,memory");
  std::filesystem::permissions(root_, std::filesystem::perms(0755));
  std::filesystem::permissions(root_ / "memory", std::filesystem::perms(0555));
  const auto user = ::geteuid();
  if (user == 0) {
    ASSERT_EQ(::seteuid(65534), 0);  // root may write anywhere
  }
  const auto host = CgroupHost::find_in(text, "3:memory:/\n");
  ASSERT_EQ(::seteuid(user), 0);
  EXPECT_EQ(host.version(), CgroupVersion::None);
  EXPECT_THAT(host.why_not(), HasSubstr(fmt::format("this user may not write to {}/memory: "
                                                    "Permission denied",
                                                    root_.native())));
}

TEST_F(CgroupHostTest, UsesV2WhereV1HasNoController) {
  const auto text = mount("v2", "rw") + mount("systemd", "rw,name=systemd");
  const auto host = CgroupHost::find_in(text, "1:name=systemd:/\n0::/\n");
  EXPECT_EQ(host.version(), CgroupVersion::V2);
  EXPECT_FALSE(host.has_memory());
  EXPECT_FALSE(host.why_not().empty());
}

// A v2 hierarchy as systemd leaves it to a plain user, in plain files.
class DelegationTest : public CgroupHostTest {
 protected:
  void add(const std::string& directory, const std::string& processes) {
    const std::filesystem::path path = root_ / "v2" / directory;
    std::filesystem::create_directories(path);
    ASSERT_TRUE(write_file(path / "cgroup.events", "populated 1\n", 0644));
    ASSERT_TRUE(write_file(path / "cgroup.procs", processes, 0644));
    ASSERT_TRUE(write_file(path / "cgroup.controllers", "cpu memory pids\n", 0644));
    // Writes replace the blanks, so that the controllers still read as enabled.
    ASSERT_TRUE(write_file(path / "cgroup.subtree_control", "        cpu memory pids\n", 0644));
  }

  CgroupHost find(const std::string& own) {
    return CgroupHost::find_in(mount("v2", "rw"), fmt::format("0::/{}\n", own));
  }
};

TEST_F(DelegationTest, UsesTheUserServiceFromAScopeInIt) {
  add("user@1000.service/app.slice", "");
  add("user@1000.service/app.slice/terminal.scope", fmt::format("{}\n1\n", ::getpid()));
  const auto host = find("user@1000.service/app.slice/terminal.scope");
  ASSERT_EQ(host.version(), CgroupVersion::V2) << host.why_not();
  EXPECT_TRUE(host.has_memory() && host.has_pids() && host.has_cpu()) << host.why_not();
  EXPECT_EQ(host.places()[0].path, root_ / "v2/user@1000.service/app.slice");
}

TEST_F(DelegationTest, UsesAScopeThatHoldsOnlyThisProcess) {
  const std::string scope = "user@1000.service/app.slice/run.scope";
  add(scope, fmt::format("{}\n", ::getpid()));
  add(scope + "/" + kSelfLeaf, "");
  if (::setxattr((root_ / "v2" / scope).c_str(), "user.delegate", "1", 1, 0) != 0)
    GTEST_SKIP() << "the file system of " << root_ << " has no extended attributes";
  const auto host = find(scope);
  ASSERT_EQ(host.version(), CgroupVersion::V2) << host.why_not();
  EXPECT_TRUE(host.has_memory() && host.has_pids() && host.has_cpu()) << host.why_not();
  EXPECT_EQ(host.places()[0].path, root_ / "v2" / scope);
  EXPECT_EQ(read_file(root_ / "v2" / scope / kSelfLeaf / "cgroup.procs").value_or(""), "0");
}

TEST_F(DelegationTest, RefusesAScopeWithOtherProcesses) {
  const std::string scope = "run.scope";
  add(scope, fmt::format("{}\n1\n", ::getpid()));
  if (::setxattr((root_ / "v2" / scope).c_str(), "user.delegate", "1", 1, 0) != 0)
    GTEST_SKIP() << "the file system of " << root_ << " has no extended attributes";
  const auto host = find(scope);
  EXPECT_FALSE(host.has_memory());
  EXPECT_THAT(host.why_not(), HasSubstr("is delegated but has other processes in it"));
}

TEST(CgroupHost, IsFoundOnThisMachine) {
  const auto host = CgroupHost::find();
  EXPECT_EQ(host.places().empty(), host.version() == CgroupVersion::None);
  if (host.version() == CgroupVersion::None) {
    EXPECT_FALSE(host.why_not().empty());
  }
  if (host.has_memory() && host.has_pids() && host.has_cpu() && host.has_freezer()) {
    EXPECT_EQ(host.why_not(), "");
  }
}

// Returns 0 if the calling process, alone in `directory`, finds its place there.
int find_in_delegation(const std::string& directory) {
  if (!write_value(directory + "/cgroup.procs", "0")) return 1;
  const auto text = fmt::format("1 1 0:1 / {} rw - cgroup2 none rw\n", directory);
  const auto host = CgroupHost::find_in(text, "0::/\n");
  if (!host.has_memory() || !host.has_pids()) return 2;
  if (read_file("/proc/self/cgroup").value_or("").find(kSelfLeaf) == std::string::npos) return 3;
  auto cgroup = Cgroup::create(host, cgroup_owner_name().value_or("") + ".1");
  return cgroup && cgroup->apply({}) ? 0 : 4;
}

TEST(CgroupHost, MovesIntoALeafOfACgroupDelegatedToIt) {
  const auto host = CgroupHost::find();
  if (host.version() != CgroupVersion::V2 || !host.has_memory() || !host.has_pids()) {
    GTEST_SKIP() << "needs cgroup v2 with controllers: " << host.why_not();
  }
  const auto leaf = fmt::format("nutshell-test.{}", ::getpid());
  const auto directory = fmt::format("{}/{}", host.places()[0].path, leaf);
  ASSERT_EQ(::mkdir(directory.c_str(), 0755), 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(find_in_delegation(directory));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(remove_directory(host.places()[0].directory.get(), leaf, Deadline::in(1s)));
}

}  // namespace
}  // namespace nutshell::native
