#include "backends/native/files/runtime_directory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "base/socket.h"

namespace nutshell::native {
namespace {

class RuntimeDirectoryTest : public testing::Test {
 protected:
  RuntimeDirectoryTest() { use(scratch_ / "runtime"); }
  ~RuntimeDirectoryTest() override { ::unsetenv("NUTSHELL_RUNTIME_DIR"); }
  static void use(const std::filesystem::path& path) {
    ASSERT_EQ(::setenv("NUTSHELL_RUNTIME_DIR", path.c_str(), 1), 0);
  }

  ScratchDirectory scratch_;
};

TEST_F(RuntimeDirectoryTest, IsMadeForItsOwnerAlone) {
  const auto directory = RuntimeDirectory::open();
  ASSERT_TRUE(directory) << directory.error().message;
  struct stat status {};
  ASSERT_EQ(::stat(directory->path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_TRUE(RuntimeDirectory::open());
}

TEST_F(RuntimeDirectoryTest, IsRefusedIfOthersCanEnter) {
  std::filesystem::create_directory(scratch_ / "runtime");
  ASSERT_EQ(::chmod((scratch_ / "runtime").c_str(), 0755), 0);
  EXPECT_EQ(RuntimeDirectory::open().error().code, ErrorCode::PermissionDenied);
}

TEST_F(RuntimeDirectoryTest, BehindALinkIsRefused) {
  std::filesystem::create_directory(scratch_ / "real");
  ASSERT_EQ(::chmod((scratch_ / "real").c_str(), 0700), 0);
  std::filesystem::create_symlink(scratch_ / "real", scratch_ / "link");
  use(scratch_ / "link");
  EXPECT_EQ(RuntimeDirectory::open().error().code, ErrorCode::PermissionDenied);
}

TEST_F(RuntimeDirectoryTest, LockIsHeldOnce) {
  const auto directory = RuntimeDirectory::open();
  ASSERT_TRUE(directory);
  {
    const auto held = LauncherLock::take(*directory);
    ASSERT_TRUE(held);
    EXPECT_FALSE(LauncherLock::try_take(*directory));
  }
  EXPECT_TRUE(LauncherLock::try_take(*directory));
}

TEST_F(RuntimeDirectoryTest, InstanceLockOfALauncherIsHeldUntilItEnds) {
  const auto directory = RuntimeDirectory::open();
  ASSERT_TRUE(directory);
  EXPECT_FALSE(*InstanceLock::is_held(*directory));
  auto [ours, theirs] = std::move(*make_socket_pair(SocketKind::Stream));
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    const auto life = InstanceLock::take_for_life(*directory);
    if (::fork() == 0) {  // a child has a copy of its descriptors, but not its lock
      ours.reset();
      char end = 0;
      (void)!::read(theirs.get(), &end, 1);
      ::_exit(0);
    }
    (void)write_all(theirs.get(), life ? "+" : "-");
    ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ours.get(), &answer, 1), 1);
  EXPECT_EQ(answer, '+');
  EXPECT_TRUE(*InstanceLock::is_held(*directory));
  EXPECT_EQ(InstanceLock::borrow(*directory).error().code, ErrorCode::Unavailable);
  EXPECT_EQ(InstanceLock::take_for_life(*directory).error().code, ErrorCode::Unavailable);
  ::kill(launcher, SIGKILL);
  ::waitpid(launcher, nullptr, 0);
  EXPECT_FALSE(*InstanceLock::is_held(*directory));
  EXPECT_TRUE(InstanceLock::borrow(*directory));
}

}  // namespace
}  // namespace nutshell::native
