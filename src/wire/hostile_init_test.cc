// Tests how the host reacts to an init that hostile code has taken over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
#include <thread>

#include "base/file.h"
#include "base/socket.h"
#include "wire/exec_loop.h"
#include "wire/init_client.h"

namespace nutshell::wire {
namespace {

using namespace std::chrono_literals;

// The conversation of a client's first request.
constexpr std::uint32_t kFirst = 1;

std::string frame(auto message, std::uint32_t conversation = kFirst) {
  std::string bytes;
  append_frame(bytes, conversation, std::move(message));
  return bytes;
}

Ended ended_with(Outcome outcome) {
  Ended ended;
  ended.result.outcome = outcome;
  return ended;
}

// An init that sends all its messages before the first request, and then closes.
class HostileInit : public testing::Test {
 protected:
  HostileInit() {
    std::signal(SIGPIPE, SIG_IGN);
    std::tie(host_, init_) = std::move(*make_socket_pair(SocketKind::Stream));
  }

  InitClient client_hearing(const std::string& lines) {
    EXPECT_TRUE(write_all(init_.get(), frame(Hello{}, 0) + lines));
    ::shutdown(init_.get(), SHUT_WR);
    return InitClient(std::move(host_));
  }
  Result<ExecResult> exec_hearing(const std::string& lines) {
    InitClient client = client_hearing(lines);
    ExecRequest request;
    request.argv = {"true"};
    return client.exec(request, captured_);
  }
  ErrorCode exec_failure(const std::string& lines) {
    const auto result = exec_hearing(lines);
    EXPECT_FALSE(result);
    return result ? ErrorCode::Internal : result.error().code;
  }

  UniqueFd host_;
  UniqueFd init_;
  CapturedOutput captured_;
};

TEST_F(HostileInit, IsAcceptedIfItFollowsTheProtocol) {
  const auto result = exec_hearing(
      frame(Output{Stream::Output, 0, "one"}) + frame(Output{Stream::Error, 0, "two"}) +
      frame(Output{Stream::Output, 3, "more"}) + frame(ended_with(Outcome::Exited)));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->outcome, Outcome::Exited);
  EXPECT_EQ(captured_.output, "onemore");
  EXPECT_EQ(captured_.error, "two");
}

TEST_F(HostileInit, SkippingOutputIsCorrupt) {
  EXPECT_EQ(exec_failure(frame(Output{Stream::Output, 1, "x"})), ErrorCode::Corrupt);
}

TEST_F(HostileInit, RepeatingOutputIsCorrupt) {
  const std::string same = frame(Output{Stream::Output, 0, "x"});
  EXPECT_EQ(exec_failure(same + same), ErrorCode::Corrupt);
  EXPECT_EQ(captured_.output, "x");
}

TEST_F(HostileInit, AnsweringWithRequestsIsCorrupt) {
  EXPECT_EQ(exec_failure(frame(Cancel{})), ErrorCode::Corrupt);
}

TEST_F(HostileInit, WithAnUnknownTypeIsCorrupt) {
  std::string bytes;
  append_header(bytes, kFirst, static_cast<MessageType>(200), 0);
  EXPECT_EQ(exec_failure(bytes), ErrorCode::Corrupt);
}

TEST_F(HostileInit, WithAnOutcomeOutOfRangeIsCorrupt) {
  Ended ended;
  ended.result.outcome = static_cast<Outcome>(250);
  EXPECT_EQ(exec_failure(frame(ended)), ErrorCode::Corrupt);
}

TEST_F(HostileInit, ForgingItsExitCodeStaysInRange) {
  Ended ended = ended_with(Outcome::Exited);
  ended.result.exit_code = -2'000'000'000;
  ended.result.signal = 1'000'000;
  const auto result = exec_hearing(frame(ended));
  ASSERT_TRUE(result);
  EXPECT_GE(result->exit_code, 0);
  EXPECT_LE(result->exit_code, 255);
  EXPECT_LE(result->signal, 64);
}

TEST_F(HostileInit, ForgingAnErrorCodeIsCorrupt) {
  EXPECT_EQ(exec_failure(frame(Failed{static_cast<ErrorCode>(255), "nonsense"})),
            ErrorCode::Corrupt);
}

TEST_F(HostileInit, WithAFrameTooLargeIsCorrupt) {
  std::string bytes;
  append_header(bytes, kFirst, MessageType::Output, kMostReplyPayload + 1);
  EXPECT_EQ(exec_failure(bytes), ErrorCode::Corrupt);
}

TEST_F(HostileInit, LeavingInTheMiddleIsLostAndNotHung) {
  const auto result = exec_hearing(frame(Output{Stream::Output, 0, "half"}));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->outcome, Outcome::Lost);
  EXPECT_EQ(result->stdout_bytes, 4U);
}

TEST_F(HostileInit, TalkingForOthersIsNotHeard) {
  const auto result = exec_hearing(frame(ended_with(Outcome::OutOfMemory), 77) +
                                   frame(ended_with(Outcome::Exited)));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->outcome, Outcome::Exited);
}

TEST_F(HostileInit, ClaimingInputItNeverGotGetsNoMore) {
  const auto result = exec_hearing(frame(InputConsumed{~0ULL}) + frame(InputConsumed{0}) +
                                   frame(ended_with(Outcome::Exited)));
  EXPECT_TRUE(result);
}

TEST_F(HostileInit, SendingMoreThanTheOutputLimitIsCorrupt) {
  const std::string bytes = frame(Hello{}, 0) + frame(Output{Stream::Output, 0, "0123456789"}) +
                            frame(Output{Stream::Error, 0, "0123456789"});
  ASSERT_TRUE(write_all(init_.get(), bytes));
  Channel channel(std::move(host_));
  ExecLoop loop(channel, channel.new_conversation(), captured_, {Deadline::in(5s), 15});
  const auto result = loop.run();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::Corrupt);
  EXPECT_EQ(captured_.error, "");
}

TEST_F(HostileInit, SilentOneIsLostAtTheDeadline) {
  Channel channel(std::move(host_));
  ExecLoop loop(channel, channel.new_conversation(), captured_, {Deadline::in(5ms), 1000});
  const auto result = loop.run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->outcome, Outcome::Lost);
}

TEST_F(HostileInit, SilentOneBehindASilentCarrierIsLostBeforeTheDeadline) {
  Channel channel(std::move(host_));
  ExecBounds bounds{Deadline::in(1h), 1000};
  bounds.ask_at = Deadline::in(5ms);
  bounds.is_cut_off = [] { return true; };
  const auto result = ExecLoop(channel, channel.new_conversation(), captured_, bounds).run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->outcome, Outcome::Lost);
}

TEST_F(HostileInit, SilentOneBehindACarrierThatAnswersHasUntilTheDeadline) {
  Channel channel(std::move(host_));
  int asked = 0;
  ExecBounds bounds{Deadline::in(50ms), 1000};
  bounds.ask_at = Deadline::in(5ms);
  bounds.is_cut_off = [&asked] { return ++asked > 1; };
  const auto result = ExecLoop(channel, channel.new_conversation(), captured_, bounds).run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->detail, "init did not answer in time");
  EXPECT_EQ(asked, 1);
}

TEST_F(HostileInit, EndlessOneIsLostAtTheDeadlineAndFillsNoMemory) {
  std::thread flood([this] {
    std::string bytes = frame(Hello{}, 0);
    const std::string others = frame(Output{Stream::Output, 0, std::string(1000, 'x')}, 77);
    const std::string nothing = frame(Output{Stream::Output, 0, ""});
    while (write_all(init_.get(), bytes))
      bytes = others + nothing;
  });
  {
    Channel channel(std::move(host_));
    ExecLoop loop(channel, channel.new_conversation(), captured_, {Deadline::in(100ms), 1000});
    const auto result = loop.run();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->outcome, Outcome::Lost);
    EXPECT_LT(channel.queued(), 1000U);
  }
  flood.join();
  EXPECT_EQ(captured_.output, "");
}

TEST_F(HostileInit, SendingMoreOfAFileThanWasAskedForIsCorrupt) {
  InitClient client = client_hearing(frame(FileInfo{}) + frame(FileData{"0123456789"}));
  std::string taken;
  const auto done = client.read_file({"/f", 0, 4, 0}, [&](std::string_view bytes) -> Result<> {
    taken += bytes;
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::Corrupt);
  EXPECT_EQ(taken, "");
}

TEST_F(HostileInit, AnsweringAPingWithSomethingElseIsCorrupt) {
  EXPECT_EQ(client_hearing(frame(FileData{"x"})).ping().error().code, ErrorCode::Corrupt);
}

TEST_F(HostileInit, ListingGarbageIsCorrupt) {
  std::string bytes;
  append_header(bytes, kFirst, MessageType::Entries, 8);
  InitClient client = client_hearing(bytes + std::string(8, '\x7f'));
  const auto walked = client.walk("/", [](const FileInfo&) -> Result<> { return {}; });
  ASSERT_FALSE(walked);
  EXPECT_EQ(walked.error().code, ErrorCode::Corrupt);
}

TEST_F(HostileInit, AcceptingBytesItNeverGotIsCorrupt) {
  InitClient client = client_hearing(frame(InputConsumed{~0ULL}) + frame(Done{}));
  int left = 3;
  const auto written =
      client.write_file({"/f", 0644, 0, 0}, [&](std::size_t) -> Result<std::string> {
        return left-- > 0 ? std::string(1000, 'x') : std::string();
      });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::Corrupt);
}

}  // namespace
}  // namespace nutshell::wire
