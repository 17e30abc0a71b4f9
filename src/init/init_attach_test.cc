// A lost connection loses no exec and no byte of its output.
#include <gmock/gmock.h>

#include <random>

#include "init/init_fixture.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

wire::Exec kept(const std::string& id, const std::string& script) {
  wire::Exec exec = wire_exec(id, script);
  exec.request.on_disconnect = OnDisconnect::Keep;
  exec.request.standard_input = StandardInput::Streamed;
  return exec;
}

// A host that takes an exec's output in order and can be cut off at any byte.
struct Listener {
  std::string output;
  std::optional<wire::Ended> ended;
  std::string failed;

  // Listens until the end, or for at least `most` more bytes.
  void listen(wire::Channel& channel, std::size_t most) {
    const std::size_t enough = output.size() + most;
    while (!ended && failed.empty() && output.size() < enough) {
      const auto frame = channel.receive(Deadline::in(20s));
      ASSERT_TRUE(frame) << frame.error().message;
      take(*frame);
      if (output.size() % 3 == 0) {
        channel.queue(frame->conversation, wire::Consumed{wire::Stream::Output, output.size()});
      }
    }
  }
  void take(const wire::Frame& frame) {
    if (frame.type == wire::MessageType::Ended) ended = *wire::decode<wire::Ended>(frame.payload);
    if (frame.type == wire::MessageType::Failed) {
      failed = wire::decode<wire::Failed>(frame.payload)->message;
    }
    if (frame.type != wire::MessageType::Output) return;
    const auto part = wire::decode<wire::Output>(frame.payload);
    ASSERT_TRUE(part);
    ASSERT_EQ(part->offset, output.size()) << "a byte was lost or doubled";
    output += part->bytes;
  }
};

std::string numbers(int last) {
  std::string text;
  for (int i = 1; i <= last; ++i)
    text += std::to_string(i) + "\n";
  return text;
}

constexpr std::size_t kAll = 1U << 30U;

TEST_F(InitTest, OutputGoesOnAfterLostConnectionsWithoutLossOrRepetition) {
  std::mt19937 random(20260101);
  for (int round = 0; round < 5; ++round) {
    const std::string id = "stream" + std::to_string(round);
    Listener listener;
    {
      wire::Channel channel(connect());
      channel.queue(1, kept(id, "seq 1 600000; exit 3"));
      listener.listen(channel, 1 + random() % 900'000);
    }
    int connections = 1;
    while (!listener.ended) {
      wire::Channel channel(connect());
      channel.queue(1, wire::Attach{id, listener.output.size(), 0});
      listener.listen(channel, 1 + random() % 900'000);
      if (HasFatalFailure()) return;
      ++connections;
    }
    EXPECT_TRUE(listener.output == numbers(600'000)) << listener.output.size();
    EXPECT_EQ(listener.ended->result.exit_code, 3);
    EXPECT_EQ(listener.ended->result.stdout_bytes, listener.output.size());
    EXPECT_GT(connections, 2);
  }
}

TEST_F(InitTest, FinishedExecCanBeAttachedToForItsOutputAndEnd) {
  {
    wire::Channel channel(connect());
    channel.queue(1, kept("done", "echo all of it; exit 6"));
    ASSERT_TRUE(channel.send_all(Deadline::in(10s)));
    Listener listener;
    listener.listen(channel, kAll);
    ASSERT_TRUE(listener.ended);
  }
  for (const std::size_t offset : {0U, 4U, 10U}) {
    wire::Channel channel(connect());
    channel.queue(1, wire::Attach{"done", offset, 0});
    Listener listener;
    listener.output.assign(offset, '?');
    listener.listen(channel, kAll);
    ASSERT_TRUE(listener.ended) << listener.failed;
    EXPECT_EQ(listener.output.substr(offset), std::string("all of it\n").substr(offset));
    EXPECT_EQ(listener.ended->result.exit_code, 6);
  }
}

TEST_F(InitTest, AttachTakesOverFromAnotherConnection) {
  wire::Channel first(connect());
  first.queue(1, kept("shared", "echo before; read x; echo never"));
  Listener before;
  before.listen(first, 7);
  wire::Channel second(connect());
  second.queue(8, wire::Attach{"shared", 0, 0});
  Listener after;
  after.listen(second, 7);
  EXPECT_EQ(after.output.substr(0, 7), "before\n");
  before.listen(first, kAll);
  if (!before.ended) {
    EXPECT_THAT(before.failed, HasSubstr("another connection"));
  }
}

TEST_F(InitTest, AttachAtAnImpossibleOffsetFailsAndTheNextOneWorks) {
  {
    wire::Channel channel(connect());
    channel.queue(1, kept("stays", "echo text; sleep 1000"));
    Listener listener;
    listener.listen(channel, 5);
    for (std::uint32_t number = 2; number < 6; ++number) {
      wire::Channel wrong(connect());
      wrong.queue(number, wire::Attach{"stays", 1'000'000, 0});
      Listener refused;
      refused.listen(wrong, kAll);
      EXPECT_THAT(refused.failed, HasSubstr("offset"));
    }
  }
  wire::Channel channel(connect());
  channel.queue(1, wire::Attach{"stays", 0, 0});
  Listener listener;
  listener.listen(channel, 5);
  EXPECT_EQ(listener.output, "text\n");
  channel.queue(1, wire::Cancel{});
  listener.listen(channel, kAll);
  ASSERT_TRUE(listener.ended);
  EXPECT_EQ(listener.ended->result.outcome, Outcome::Cancelled);
}

TEST_F(InitTest, RefusedAttachTakesNothingFromTheListener) {
  wire::Channel channel(connect());
  channel.queue(1, kept("heard", "echo first; read line; echo $line"));
  Listener listener;
  listener.listen(channel, 6);
  // The first stream could be rewound, the second cannot.
  wire::Channel wrong(connect());
  wrong.queue(1, wire::Attach{"heard", 6, 1'000'000});
  Listener refused;
  refused.listen(wrong, kAll);
  EXPECT_THAT(refused.failed, HasSubstr("offset"));
  channel.queue(1, wire::Input{"second\n"});
  listener.listen(channel, kAll);
  ASSERT_TRUE(listener.ended) << listener.failed;
  EXPECT_EQ(listener.output, "first\nsecond\n");
}

TEST_F(InitTest, FinishedExecsAreForgottenInTheOrderOfTheirEnds) {
  constexpr int kMany = 70;                                         // more than are kept
  const auto name = [](int i) { return std::to_string(900 - i); };  // the last sorts first
  for (int i = 0; i < kMany; ++i) {
    wire::Channel channel(connect());
    channel.queue(1, kept(name(i), "echo " + name(i)));
    Listener listener;
    listener.listen(channel, kAll);
    ASSERT_TRUE(listener.ended) << listener.failed;
  }
  const auto attach = [&](int i) {
    wire::Channel channel(connect());
    channel.queue(1, wire::Attach{name(i), 4, 0});
    Listener listener;
    listener.output.assign(4, '?');
    listener.listen(channel, kAll);
    return listener.failed;
  };
  EXPECT_THAT(attach(0), HasSubstr("no exec"));
  EXPECT_THAT(attach(4), HasSubstr("no exec"));
  EXPECT_EQ(attach(6), "");
  EXPECT_EQ(attach(kMany - 1), "");
}

TEST_F(InitTest, ClientAttachesByOffset) {
  {
    wire::Channel channel(connect());
    channel.queue(1, kept("client", "echo one; echo two >&2; sleep 0.1; exit 2"));
    ASSERT_TRUE(channel.send_all(Deadline::in(10s)));
    Listener listener;
    listener.listen(channel, 4);
  }
  wire::CapturedOutput io;
  const auto result = client().attach({"client", 0, 0}, {}, io);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(io.output, "one\n");
  EXPECT_EQ(io.error, "two\n");
  EXPECT_EQ(result->exit_code, 2);
}

TEST_F(InitTest, ExecThatIsNotKeptEndsWithItsConnection) {
  {
    wire::Channel channel(connect());
    channel.queue(1, wire_exec("mortal", "echo up; sleep 1000 & sleep 1000"));
    Listener listener;
    listener.listen(channel, 3);
    EXPECT_EQ(listener.output, "up\n");
  }
  const Deadline patience = Deadline::in(20s);
  while (count_processes("sleep") > 0 && !patience.has_passed()) {
  }
  EXPECT_EQ(count_processes("sleep"), 0);
}

TEST_F(InitTest, SameIdIsNotStartedTwice) {
  wire::Channel channel(connect());
  channel.queue(1, wire_exec("one", "sleep 1000"));
  channel.queue(2, wire_exec("one", "true"));
  const auto frame = channel.receive(Deadline::in(20s));
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(frame->conversation, 2U);
  EXPECT_EQ(frame->type, wire::MessageType::Failed);
}

}  // namespace
}  // namespace nutshell::init
