#include "backends/native/files/private_view.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::native {
namespace {

constexpr int kSkipped = 77;

// Runs the test in a child with a mount namespace of its own; returns the child's exit status.
int in_own_namespace(const std::function<int()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0) ::_exit(kSkipped);
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(kSkipped);
    ::_exit(act());
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

class PrivateViewTest : public testing::Test {
 protected:
  PrivateViewTest() {
    for (const char* name : {"source/below", "place", "empty"})
      std::filesystem::create_directories(scratch_ / name);
    EXPECT_TRUE(write_file(scratch_ / "source/file", "text"));
    EXPECT_TRUE(write_file(scratch_ / "source/below/old", "old"));
  }

  [[nodiscard]] Result<> mount() const {
    const UniqueFd empty = TRY(open_file(scratch_ / "empty", O_PATH | O_DIRECTORY));
    return mount_private_view(
        {scratch_ / "source", scratch_ / "place", empty.get(), find_privilege()},
        TRY(MountTable::read()));
  }

  ScratchDirectory scratch_;
};

TEST_F(PrivateViewTest, ShowsTheFilesAndKeepsTheirLocksApart) {
  const int outside = ::open((scratch_ / "source/file").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(outside, LOCK_EX), 0);
  const int status = in_own_namespace([&] {
    if (!mount()) return 1;
    if (read_file(scratch_ / "place/file").value_or("") != "text") return 2;
    const int inside = ::open((scratch_ / "place/file").c_str(), O_RDONLY | O_CLOEXEC);
    return ::flock(inside, LOCK_EX | LOCK_NB) == 0 ? 0 : 3;
  });
  ::close(outside);
  if (status == kSkipped) GTEST_SKIP() << "needs the right to mount";
  EXPECT_EQ(status, 0);
}

TEST_F(PrivateViewTest, CannotBeWrittenTo) {
  const int status = in_own_namespace([&] {
    if (!mount()) return 1;
    const int file = ::open((scratch_ / "place/file").c_str(), O_WRONLY | O_CLOEXEC);
    return file < 0 && errno == EROFS ? 0 : 2;
  });
  if (status == kSkipped) GTEST_SKIP() << "needs the right to mount";
  EXPECT_EQ(status, 0);
}

TEST_F(PrivateViewTest, ShowsWhatIsMountedBelowTheSource) {
  const int status = in_own_namespace([&] {
    const std::string below = scratch_ / "source/below";
    if (::mount("none", below.c_str(), "tmpfs", 0, "size=64k") != 0) return kSkipped;
    if (!write_file(below + "/new", "new") || !mount()) return 1;
    if (read_file(scratch_ / "place/below/new").value_or("") != "new") return 2;
    return ::access((scratch_ / "place/below/old").c_str(), F_OK) == 0 ? 3 : 0;
  });
  if (status == kSkipped) GTEST_SKIP() << "needs the right to mount";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace nutshell::native
