#include "wire/init_client.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/socket.h"

namespace nutshell::wire {
namespace {

using namespace std::chrono_literals;

// A ping is the first conversation, and 99 one that the host did not begin.
Result<> pinged(const Deadline& deadline, std::uint32_t first_answer) {
  auto [host, init] = std::move(*make_socket_pair(SocketKind::Stream));
  std::string bytes;
  append_frame(bytes, 0, Hello{});
  append_frame(bytes, first_answer, Done{});
  append_frame(bytes, 1, Done{});
  EXPECT_TRUE(write_all(init.get(), bytes));
  return InitClient(std::move(host)).ping(deadline);
}

TEST(InitClient, OtherFramesDoNotExtendADeadline) {
  EXPECT_TRUE(pinged(Deadline::in(10s), 99)) << "frames of others are left out";
  EXPECT_TRUE(pinged(Deadline::in(0s), 1)) << "an answer that is there is taken";
  const auto late = pinged(Deadline::in(0s), 99);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::DeadlineExceeded);
}

}  // namespace
}  // namespace nutshell::wire
