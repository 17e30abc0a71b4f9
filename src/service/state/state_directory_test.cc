#include "service/state/state_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::service {
namespace {

using testing::HasSubstr;

class StateDirectoryTest : public testing::Test {
 protected:
  // A process that takes the directory, and then is a zombie: what it locked lives on in a child
  // of it until `release` is closed, as when a daemon dies that is starting a program.
  void die_with_a_child(UniqueFd& release) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const pid_t owner = ::fork();
    if (owner == 0) {
      const auto taken = StateDirectory::open(path_);
      ::close(ends[1]);
      if (taken && ::fork() == 0) (void)!::read(ends[0], ends.data(), 1);
      ::_exit(0);
    }
    ::close(ends[0]);
    release.reset(ends[1]);
    EXPECT_EQ(::waitpid(owner, nullptr, 0), owner);
  }

  ScratchDirectory scratch_;
  std::filesystem::path path_ = scratch_ / "state";
};

TEST_F(StateDirectoryTest, HasOneOwnerAndNamesIt) {
  const auto first = StateDirectory::open(path_);
  ASSERT_TRUE(first) << first.error().message;
  const auto begun = Clock::now();
  const auto second = StateDirectory::open(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::AlreadyExists);
  EXPECT_THAT(second.error().message, HasSubstr("process " + std::to_string(::getpid())));
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(5));  // nobody is waited for
}

TEST_F(StateDirectoryTest, WaitsForWhatADeadOwnerWasStarting) {
  UniqueFd release;
  die_with_a_child(release);
  const UniqueFd lock = std::move(*open_file(path_ / "lock", O_RDWR));
  ASSERT_NE(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);  // the child has it
  std::jthread child([&release] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    release.reset();
  });
  const auto next = StateDirectory::open(path_);
  EXPECT_TRUE(next) << next.error().message;
}

TEST_F(StateDirectoryTest, IsClosedToOthersWhoCouldOnlyReadIt) {
  std::filesystem::create_directory(path_);
  ASSERT_EQ(::chmod(path_.c_str(), 0755), 0);
  ASSERT_TRUE(StateDirectory::open(path_));
  EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms::owner_all);
}

TEST_F(StateDirectoryTest, IsNotOpenedWhereOthersHaveAHand) {
  std::filesystem::create_directory(path_);
  ASSERT_EQ(::chmod(path_.c_str(), 0777), 0);
  EXPECT_FALSE(StateDirectory::open(path_));
  std::filesystem::remove(path_);
  std::filesystem::create_directory_symlink(scratch_ / "elsewhere", path_);
  EXPECT_FALSE(StateDirectory::open(path_));
}

}  // namespace
}  // namespace nutshell::service
