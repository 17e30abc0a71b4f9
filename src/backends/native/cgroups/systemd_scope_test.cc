#include "backends/native/cgroups/systemd_scope.h"

#include <gtest/gtest.h>

#include "backends/native/cgroups/dbus_message.h"
#include "base/scratch_fixture.h"
#include "base/socket.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

TEST(SystemdScope, IsNotAskedForWhereNobodyListens) {
  const auto joined = join_delegated_scope("/nonexistent/systemd/private", Deadline::in(10s));
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, ErrorCode::NotFound);
}

TEST(SystemdScope, IsNotWaitedForBeyondTheDeadline) {
  const ScratchDirectory scratch;
  const auto listener = listen_on(scratch.path() / "private", SocketKind::Stream);
  ASSERT_TRUE(listener) << listener.error().message;
  const auto before = Clock::now();

  const auto joined = join_delegated_scope(scratch.path() / "private", Deadline::in(50ms));

  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, ErrorCode::DeadlineExceeded);
  EXPECT_LT(Clock::now() - before, 10s);
}

TEST(SystemdScope, IsKnownByItsName) {
  EXPECT_TRUE(is_own_scope("/sys/fs/cgroup/app.slice/nutshell-0123456789abcdef.scope"));
  EXPECT_FALSE(is_own_scope("/sys/fs/cgroup/nutshell-0123456789abcdef.scope/nutshell.self"));
  EXPECT_FALSE(is_own_scope("/sys/fs/cgroup/nutshell-0123456789abcdeX.scope"));
  EXPECT_FALSE(is_own_scope("/sys/fs/cgroup/nutshell-.scope"));
  EXPECT_FALSE(is_own_scope("/sys/fs/cgroup/session-2.scope"));
}

}  // namespace
}  // namespace nutshell::native
