#include "backends/native/filters/landlock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/seccomp_filter.h"
#include "base/unique_fd.h"

namespace nutshell {
namespace {

class Landlock : public testing::Test {
 protected:
  void SetUp() override {
    if (landlock_abi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
    std::string pattern = testing::TempDir() + "/landlock-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    std::filesystem::create_directories(inside() + "/one");
    std::filesystem::create_directories(inside() + "/two");
    std::filesystem::create_directories(outside());
    ASSERT_EQ(create(outside() + "/file"), 0);
  }
  void TearDown() override {
    if (!root_.empty()) std::filesystem::remove_all(root_);
  }

  [[nodiscard]] std::string inside() const { return root_ + "/inside"; }
  [[nodiscard]] std::string outside() const { return root_ + "/outside"; }

  static int open_error(const std::string& path, int flags) {
    const UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
    return fd ? 0 : errno;
  }
  static int create(const std::string& path) { return open_error(path, O_WRONLY | O_CREAT); }

  // Runs `probe` in a child, because rules cannot be removed. Returns what `probe` returned.
  template <typename Probe>
  int run_restricted(Probe probe) const {
    const pid_t child = ::fork();
    if (child == 0) {
      const PathRules rules{.writable = {inside()}, .devices = {"/dev"}};
      if (!set_no_new_privileges() || !restrict_paths(rules)) ::_exit(255);
      ::_exit(probe());
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
  }

 private:
  std::string root_;
};

TEST_F(Landlock, AllowsWritingInside) {
  EXPECT_EQ(run_restricted([&] { return create(inside() + "/file"); }), 0);
  EXPECT_TRUE(std::filesystem::exists(inside() + "/file"));
}

TEST_F(Landlock, RefusesWritingOutside) {
  EXPECT_EQ(run_restricted([&] { return create(outside() + "/new"); }), EACCES);
  EXPECT_EQ(run_restricted([&] { return open_error(outside() + "/file", O_RDWR); }), EACCES);
  EXPECT_EQ(run_restricted([&] { return open_error(outside() + "/file", O_RDONLY); }), 0);
  EXPECT_EQ(
      run_restricted([&] { return ::unlink((outside() + "/file").c_str()) != 0 ? errno : 0; }),
      EACCES);
}

TEST_F(Landlock, RefusesTruncatingOutside) {
  if (landlock_abi() < 3) GTEST_SKIP() << "needs Landlock version 3, Linux 6.2";
  const auto truncate = [&] {
    return ::truncate((outside() + "/file").c_str(), 0) != 0 ? errno : 0;
  };
  EXPECT_EQ(run_restricted(truncate), EACCES);
}

TEST_F(Landlock, AllowsMovingBetweenDirectoriesInside) {
  if (landlock_abi() < 2) GTEST_SKIP() << "needs Landlock version 2, Linux 5.19";
  const auto move = [&] {
    if (create(inside() + "/one/file") != 0) return 1;
    return ::rename((inside() + "/one/file").c_str(), (inside() + "/two/file").c_str());
  };
  EXPECT_EQ(run_restricted(move), 0);
}

TEST_F(Landlock, LeavesDevicesUsable) {
  EXPECT_EQ(run_restricted([] { return open_error("/dev/null", O_RDWR | O_CREAT | O_TRUNC); }), 0);
  EXPECT_EQ(run_restricted([] { return open_error("/dev", O_RDONLY | O_DIRECTORY); }), 0);
}

TEST_F(Landlock, RefusesDeviceNodesInside) {
  const auto make_node = [&] {
    const std::string path = inside() + "/null";
    return ::mknod(path.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0 ? errno : 0;
  };
  const int error = run_restricted(make_node);
  EXPECT_TRUE(error == EACCES || error == EPERM) << error;  // EPERM: the tests do not run as root
}

TEST_F(Landlock, RefusesSignalsToProcessesOutside) {
  if (landlock_abi() < 6) GTEST_SKIP() << "needs Landlock version 6, Linux 6.12";
  EXPECT_EQ(run_restricted([] { return ::kill(::getppid(), 0) != 0 ? errno : 0; }), EPERM);
  EXPECT_EQ(run_restricted([] { return ::kill(::getpid(), 0) != 0 ? errno : 0; }), 0);
}

TEST_F(Landlock, RefusesARuleOnASymbolicLink) {
  const std::string link = inside() + "/link";
  ASSERT_EQ(::symlink("/", link.c_str()), 0);
  const auto restricted = restrict_paths({.writable = {link}, .devices = {}});
  ASSERT_FALSE(restricted);
  EXPECT_EQ(restricted.error().code, ErrorCode::InvalidArgument);
}

TEST_F(Landlock, NamesThePathThatIsMissing) {
  const auto restricted = restrict_paths({.writable = {outside() + "/nowhere"}, .devices = {}});
  ASSERT_FALSE(restricted);
  EXPECT_NE(restricted.error().message.find("nowhere"), std::string::npos);
}

}  // namespace
}  // namespace nutshell
