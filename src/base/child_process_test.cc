#include "base/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nutshell {
namespace {

using namespace std::chrono_literals;

template <typename Body>
ChildProcess start(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  return {pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
}

int wait_for_a_signal() {
  for (;;)
    ::pause();
}

bool is_there(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

TEST(ChildProcess, GivesItsStatusOnce) {
  ChildProcess child = start([] { return 7; });
  const auto status = child.wait(Deadline::in(10s));
  ASSERT_TRUE(status) << status.error().message;
  ASSERT_TRUE(*status);
  EXPECT_EQ(WEXITSTATUS(**status), 7);
  EXPECT_FALSE(child.is_owned());
}

TEST(ChildProcess, OutlivesAWaitThatIsOver) {
  ChildProcess child = start(wait_for_a_signal);
  const auto status = child.wait(Deadline::in(1ms));
  ASSERT_TRUE(status);
  EXPECT_FALSE(*status);
  EXPECT_TRUE(child.is_owned());
}

TEST(ChildProcess, TakesSignals) {
  ChildProcess child = start(wait_for_a_signal);
  child.send_signal(SIGTERM);
  const auto status = child.wait(Deadline::in(10s));
  ASSERT_TRUE(status && *status);
  EXPECT_EQ(WTERMSIG(**status), SIGTERM);
}

TEST(ChildProcess, IsKilledAndReapedWithItsOwner) {
  pid_t pid = -1;
  {
    const ChildProcess child = start(wait_for_a_signal);
    pid = child.pid();
    ASSERT_TRUE(is_there(pid));
  }
  EXPECT_FALSE(is_there(pid));
}

TEST(ChildProcess, MovedFromOwnsNothing) {
  ChildProcess first = start(wait_for_a_signal);
  const pid_t replaced = first.pid();
  ChildProcess second = start(wait_for_a_signal);
  const pid_t kept = second.pid();
  first = std::move(second);
  EXPECT_FALSE(is_there(replaced));
  EXPECT_TRUE(is_there(kept));
  EXPECT_EQ(first.pid(), kept);
}

}  // namespace
}  // namespace nutshell
