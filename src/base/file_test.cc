#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "base/scratch_fixture.h"
#include "base/socket.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;

TEST(File, ReadsWhatWasWritten) {
  const ScratchDirectory scratch;
  const std::string bytes("a\0b\n", 4);
  ASSERT_TRUE(write_file(scratch / "file", bytes));
  EXPECT_EQ(*read_file(scratch / "file"), bytes);
}

TEST(File, LongerThanTheLimitIsAnErrorAndNotCut) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(write_file(scratch / "file", std::string(101, 'x')));
  EXPECT_EQ(read_file(scratch / "file", 101)->size(), 101U);
  EXPECT_EQ(read_file(scratch / "file", 100).error().code, ErrorCode::ResourceExhausted);
}

TEST(File, EndlessOneIsReadOnlyToTheLimit) {
  EXPECT_EQ(read_file("/dev/zero", 1 << 16U).error().code, ErrorCode::ResourceExhausted);
}

TEST(File, ErrorNamesThePath) {
  const auto missing = read_file("/nowhere/at/all");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "open /nowhere/at/all: No such file or directory");
}

TEST(File, WaitsNoLongerThanTheDeadline) {
  auto [near, far] = std::move(*make_socket_pair(SocketKind::Stream));
  EXPECT_FALSE(*wait_for(near.get(), POLLIN, Deadline::in(1ms)));
  ASSERT_TRUE(write_all(far.get(), "x"));
  EXPECT_TRUE(*wait_for(near.get(), POLLIN, Deadline::in(10s)));
}

}  // namespace
}  // namespace nutshell
