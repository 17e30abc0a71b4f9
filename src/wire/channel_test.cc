#include "wire/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
#include <thread>

#include "base/file.h"
#include "base/socket.h"

namespace nutshell::wire {
namespace {

using namespace std::chrono_literals;

class ChannelTest : public testing::Test {
 protected:
  ChannelTest() {
    std::signal(SIGPIPE, SIG_IGN);
    auto [host, init] = std::move(*make_socket_pair(SocketKind::Stream));
    channel_.emplace(std::move(host));
    init_ = std::move(init);
  }
  // Sends the bytes as init, and then closes.
  void say(std::string_view bytes) { ASSERT_TRUE(write_all(init_.get(), bytes)); }
  ErrorCode failure_of_next() {
    const auto frame = channel_->receive(Deadline::in(10s));
    return frame ? ErrorCode::Internal : frame.error().code;
  }
  static std::string frame(auto message, std::uint32_t conversation = 0) {
    std::string bytes;
    append_frame(bytes, conversation, std::move(message));
    return bytes;
  }

  std::optional<Channel> channel_;
  UniqueFd init_;
};

TEST_F(ChannelTest, GreetsWithItsFirstMessage) {
  channel_->queue(channel_->new_conversation(), Ping{});
  ASSERT_TRUE(channel_->send_all(Deadline::in(10s)));
  const std::string expected = frame(Hello{}) + frame(Ping{}, 1);
  std::string bytes(expected.size(), '\0');
  ASSERT_EQ(::recv(init_.get(), bytes.data(), bytes.size(), MSG_WAITALL),
            static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(bytes, expected);
}

TEST_F(ChannelTest, GivesWhatFollowsTheGreeting) {
  say(frame(Hello{}) + frame(Done{}, 5));
  const auto received = channel_->receive(Deadline::in(10s));
  ASSERT_TRUE(received) << received.error().message;
  EXPECT_EQ(received->conversation, 5U);
  EXPECT_EQ(received->type, MessageType::Done);
}

TEST_F(ChannelTest, RefusesWhoDoesNotGreet) {
  say(frame(Done{}, 1));
  EXPECT_EQ(failure_of_next(), ErrorCode::Corrupt);
}

TEST_F(ChannelTest, RefusesAnotherMagic) {
  say(frame(Hello{kMagic + 1, kVersion}));
  EXPECT_EQ(failure_of_next(), ErrorCode::Corrupt);
}

TEST_F(ChannelTest, SaysSoWhenTheVersionIsAnother) {
  say(frame(Hello{kMagic, kVersion + 1}));
  EXPECT_EQ(failure_of_next(), ErrorCode::Unsupported);
}

TEST_F(ChannelTest, RefusesAGreetingThatIsCut) {
  std::string bytes;
  append_header(bytes, 0, MessageType::Hello, 3);
  say(bytes + "abc");
  EXPECT_EQ(failure_of_next(), ErrorCode::Corrupt);
}

TEST_F(ChannelTest, SaysWhenTheOtherSideIsGone) {
  init_.reset();
  EXPECT_EQ(failure_of_next(), ErrorCode::Unavailable);
}

TEST_F(ChannelTest, WaitsForASilentInitOnlyToTheDeadline) {
  say(frame(Hello{}));
  const auto received = channel_->receive(Deadline::in(1ms));
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, ErrorCode::DeadlineExceeded);
}

TEST_F(ChannelTest, TakesAfterTheDeadlineOnlyWhatHadArrived) {
  const Deadline passed = Deadline::in(0s);
  say(frame(Hello{}) + frame(Done{}, 1) + frame(Done{}, 2));
  EXPECT_EQ(channel_->receive(passed)->conversation, 1U) << "the first call finds what lies there";
  say(frame(Done{}, 3));
  EXPECT_EQ(channel_->receive(passed)->conversation, 2U);
  const auto late = channel_->receive(passed);
  ASSERT_FALSE(late) << "an init that goes on sending would hold the caller for ever";
  EXPECT_EQ(late.error().code, ErrorCode::DeadlineExceeded);
  EXPECT_EQ(channel_->receive(Deadline::in(10s))->conversation, 3U) << "nothing is lost";
}

TEST_F(ChannelTest, ListensToAnEndlessInitOnlyToTheDeadline) {
  // Many frames in one write: there is always another one waiting.
  std::string flood;
  while (flood.size() < (1U << 20U))
    flood += frame(Done{}, 99);
  std::thread init([&] {
    bool is_heard = write_all(init_.get(), frame(Hello{})).has_value();
    while (is_heard)
      is_heard = write_all(init_.get(), flood).has_value();
  });
  const Deadline deadline = Deadline::in(50ms);
  auto received = channel_->receive(deadline);
  std::size_t late = 0;
  for (; received && late < flood.size(); received = channel_->receive(deadline))
    late += deadline.has_passed() ? frame(Done{}, 99).size() : 0;
  ::shutdown(init_.get(), SHUT_RDWR);
  init.join();
  EXPECT_LT(late, flood.size()) << "it would listen for ever";
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, ErrorCode::DeadlineExceeded);
}

TEST_F(ChannelTest, SendsToADeafInitOnlyToTheDeadline) {
  channel_->queue(1, Input{std::string(8U << 20U, 'x')});
  const auto sent = channel_->send_all(Deadline::in(1ms));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::DeadlineExceeded);
}

}  // namespace
}  // namespace nutshell::wire
