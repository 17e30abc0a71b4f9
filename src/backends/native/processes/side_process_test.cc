#include "backends/native/processes/side_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

TEST(SideProcess, ReturnsTheResultOfItsWork) {
  auto done = SideProcess::start({}, [] { return Result<>(); });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->take_answer(Deadline::in(10s)));
  auto failed = SideProcess::start(
      {}, []() -> Result<> { return failure(ErrorCode::NotFound, "no such layer"); });
  ASSERT_TRUE(failed) << failed.error().message;
  const auto answer = failed->take_answer(Deadline::in(10s));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::NotFound);
  EXPECT_EQ(answer.error().message, "no such layer");
}

TEST(SideProcess, IsNotWaitedForBeyondTheDeadline) {
  auto slow = SideProcess::start({}, []() -> Result<> {
    ::pause();
    return {};
  });
  ASSERT_TRUE(slow) << slow.error().message;
  const auto answer = slow->take_answer(Deadline::in(10ms));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::DeadlineExceeded);
}

TEST(SideProcess, IsAnErrorIfItDies) {
  auto dying = SideProcess::start({}, []() -> Result<> {
    ::raise(SIGKILL);
    return {};
  });
  ASSERT_TRUE(dying) << dying.error().message;
  EXPECT_FALSE(dying->take_answer(Deadline::in(10s)));
}

TEST(SideProcess, HasOnlyTheDescriptorsItIsGiven) {
  const UniqueFd given(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto looking = SideProcess::start({given.get()}, [&]() -> Result<> {
    if (::fcntl(given.get(), F_GETFD) < 0) return failure(ErrorCode::Internal, "lost");
    if (::fcntl(other.get(), F_GETFD) >= 0) return failure(ErrorCode::Internal, "kept");
    return {};
  });
  ASSERT_TRUE(looking) << looking.error().message;
  const auto answer = looking->take_answer(Deadline::in(10s));
  EXPECT_TRUE(answer) << answer.error().message;
}

}  // namespace
}  // namespace nutshell::native
