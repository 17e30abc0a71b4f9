#include "wire/message_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/pipe.h"
#include "base/socket.h"
#include "wire/egress_messages.h"

namespace nutshell::wire {
namespace {

using namespace std::chrono_literals;

class MessageSocket : public ::testing::Test {
 protected:
  MessageSocket() {
    auto pair = make_socket_pair(SocketKind::Stream);
    EXPECT_TRUE(pair);
    std::tie(ours_, theirs_) = std::move(*pair);
  }
  UniqueFd ours_;
  UniqueFd theirs_;
};

TEST_F(MessageSocket, CarriesALongMessageAndADescriptor) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  EgressPolicy policy;
  policy.policy.allow = {std::string(1'000'000, 'a'), "example.org"};
  std::thread sender([&] {
    EXPECT_TRUE(send_message(ours_.get(), policy, Deadline::in(20s), pipe->write.get()));
  });
  auto received = receive_bytes(theirs_.get(), Deadline::in(20s));
  sender.join();
  ASSERT_TRUE(received) << received.error().message;
  EXPECT_EQ(decode<EgressPolicy>(received->bytes)->policy, policy.policy);
  ASSERT_TRUE(received->descriptor);
  EXPECT_EQ(::write(received->descriptor.get(), "x", 1), 1);
  char letter = 0;
  EXPECT_EQ(::read(pipe->read.get(), &letter, 1), 1);
}

TEST_F(MessageSocket, TellsThatTheOtherSideIsGone) {
  theirs_.reset();
  const auto received = receive_bytes(ours_.get(), Deadline::in(20s));
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, ErrorCode::Unavailable);
  EXPECT_FALSE(send_message(ours_.get(), EgressSandbox{"x"}, Deadline::in(20s)));
}

TEST_F(MessageSocket, DoesNotWaitForEverForAWholeMessage) {
  ASSERT_EQ(::send(theirs_.get(), "\5\0\0\0ab", 6, 0), 6);
  const auto received = receive_bytes(ours_.get(), Deadline::in(20ms));
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, ErrorCode::DeadlineExceeded);
}

TEST_F(MessageSocket, RefusesALengthBeyondTheLimit) {
  ASSERT_EQ(::send(theirs_.get(), "\xff\xff\xff\xff", 4, 0), 4);
  const auto received = receive_bytes(ours_.get(), Deadline::in(20s));
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, ErrorCode::Corrupt);
}

}  // namespace
}  // namespace nutshell::wire
