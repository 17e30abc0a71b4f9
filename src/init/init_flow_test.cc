// Several conversations on one stream, and several streams: none waits for another.
#include <gmock/gmock.h>
#include <poll.h>

#include <map>

#include "base/file.h"
#include "init/init_fixture.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Gathers bytes and ends by conversation.
struct Heard {
  std::map<std::uint32_t, std::string> bytes;
  std::map<std::uint32_t, wire::MessageType> ends;

  void take(const wire::Frame& frame) {
    using enum wire::MessageType;
    std::string& text = bytes[frame.conversation];
    if (frame.type == Output) text += wire::decode<wire::Output>(frame.payload)->bytes;
    if (frame.type == FileData) text += wire::decode<wire::FileData>(frame.payload)->bytes;
    if (frame.type == Ended || frame.type == Done || frame.type == Failed) {
      ends[frame.conversation] = frame.type;
    }
  }
  [[nodiscard]] bool has_ended(std::initializer_list<std::uint32_t> all) const {
    return std::all_of(all.begin(), all.end(), [&](auto number) { return ends.contains(number); });
  }
};

TEST_F(InitTest, FloodNobodyConsumesHoldsUpNoOtherConversation) {
  const std::string file(700'000, 'f');
  ASSERT_TRUE(write_file(scratch_ / "file", file));
  wire::Channel channel(connect());
  channel.queue(1, wire_exec("flood", "yes"));
  channel.queue(2, wire_exec("small", "echo small; exit 5"));
  channel.queue(3, wire::ReadFile{scratch_ / "file", 0, file.size(), 1U << 20U});
  channel.queue(4, wire::Ping{});
  Heard heard;
  while (!heard.has_ended({2, 3, 4})) {
    const auto frame = channel.receive(Deadline::in(20s));
    ASSERT_TRUE(frame) << frame.error().message;
    heard.take(*frame);
  }
  EXPECT_EQ(heard.bytes[2], "small\n");
  EXPECT_TRUE(heard.bytes[3] == file);
  // The flood stops at its own window.
  auto frame = channel.receive(Deadline::in(300ms));
  for (; frame; frame = channel.receive(Deadline::in(300ms)))
    heard.take(*frame);
  EXPECT_EQ(frame.error().code, ErrorCode::DeadlineExceeded);
  EXPECT_EQ(heard.bytes[1].size(), 1U << 20U);
  EXPECT_FALSE(heard.ends.contains(1));
}

TEST_F(InitTest, FloodThatIsConsumedGetsNoMoreThanItsShare) {
  const std::string file(4U << 20U, 'f');
  ASSERT_TRUE(write_file(scratch_ / "file", file));
  wire::Channel channel(connect());
  channel.queue(1, wire_exec("flood", "yes"));
  Heard heard;
  while (heard.bytes[1].size() < (4U << 20U)) {
    const auto frame = channel.receive(Deadline::in(20s));
    ASSERT_TRUE(frame) << frame.error().message;
    heard.take(*frame);
    channel.queue(1, wire::Consumed{wire::Stream::Output, heard.bytes[1].size()});
  }
  const std::size_t before = heard.bytes[1].size();
  channel.queue(3, wire::ReadFile{scratch_ / "file", 0, file.size(), 1U << 20U});
  while (!heard.has_ended({3})) {
    const auto frame = channel.receive(Deadline::in(20s));
    ASSERT_TRUE(frame) << frame.error().message;
    heard.take(*frame);
    channel.queue(1, wire::Consumed{wire::Stream::Output, heard.bytes[1].size()});
    channel.queue(3, wire::Consumed{wire::Stream::Output, heard.bytes[3].size()});
  }
  EXPECT_EQ(heard.bytes[3].size(), file.size());
  EXPECT_LT(heard.bytes[1].size() - before, 3 * file.size());
}

TEST_F(InitTest, InputsOfTwoCommandsDoNotMix) {
  wire::Channel channel(connect());
  for (const std::uint32_t number : {1U, 2U}) {
    wire::Exec exec = wire_exec(std::to_string(number), "cat");
    exec.request.standard_input = StandardInput::Streamed;
    channel.queue(number, exec);
  }
  std::map<std::uint32_t, std::string> sent;
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t number = 1U + static_cast<std::uint32_t>(i * 7 % 3 == 0);
    const std::string line = std::to_string(i) + "\n";
    sent[number] += line;
    channel.queue(number, wire::Input{line});
  }
  channel.queue(1, wire::InputEnd{});
  channel.queue(2, wire::InputEnd{});
  Heard heard;
  while (!heard.has_ended({1, 2})) {
    const auto frame = channel.receive(Deadline::in(20s));
    ASSERT_TRUE(frame) << frame.error().message;
    heard.take(*frame);
  }
  EXPECT_EQ(heard.bytes[1], sent[1]);
  EXPECT_EQ(heard.bytes[2], sent[2]);
}

TEST_F(InitTest, ManyConnectionsAreServedAtOnce) {
  std::vector<std::unique_ptr<wire::Channel>> channels;
  for (std::uint32_t i = 0; i < 20; ++i) {
    channels.push_back(std::make_unique<wire::Channel>(connect()));
    channels.back()->queue(1, wire_exec("exec" + std::to_string(i), "read x; echo $x"));
    ASSERT_TRUE(channels.back()->send_all(Deadline::in(10s)));
  }
  for (std::size_t i = channels.size(); i-- > 0;) {
    Heard heard;
    while (!heard.has_ended({1})) {
      const auto frame = channels[i]->receive(Deadline::in(20s));
      ASSERT_TRUE(frame) << frame.error().message;
      heard.take(*frame);
    }
    EXPECT_EQ(heard.bytes[1], "\n");
  }
}

TEST_F(InitTest, GreetingDoesNotWaitForALongCommand) {
  std::string bytes;
  wire::append_frame(bytes, 0, wire::Hello{});
  const std::size_t greeting = bytes.size();
  wire::append_frame(bytes, 1, wire_exec("long", "sleep 1000"));
  const UniqueFd stream = connect();
  ASSERT_TRUE(write_all(stream.get(), bytes));
  ASSERT_TRUE(*wait_for(stream.get(), POLLIN, Deadline::in(20s)));
  std::array<char, 4096> heard{};
  EXPECT_EQ(::read(stream.get(), heard.data(), heard.size()), greeting);
}

TEST_F(InitTest, OutputThatLooksLikeFramesIsOnlyOutput) {
  std::string forged;
  wire::append_frame(forged, 1, wire::Ended{});
  wire::append_frame(forged, 2, wire::Done{});
  ASSERT_TRUE(write_file(scratch_ / "forged", forged));
  wire::Channel channel(connect());
  channel.queue(1, wire_exec("a", "cat forged; exit 9"));
  Heard heard;
  while (!heard.has_ended({1})) {
    const auto frame = channel.receive(Deadline::in(20s));
    ASSERT_TRUE(frame) << frame.error().message;
    if (frame->type == wire::MessageType::Ended) {
      EXPECT_EQ(wire::decode<wire::Ended>(frame->payload)->result.exit_code, 9);
    }
    heard.take(*frame);
  }
  EXPECT_EQ(heard.bytes[1], forged);
  EXPECT_FALSE(heard.ends.contains(2));
}

// Messages that break the protocol, after the greeting or instead of it.
TEST_F(InitTest, BreachOfTheProtocolClosesThatConnectionAlone) {
  std::string hello;
  wire::append_frame(hello, 0, wire::Hello{});
  std::string on_zero = hello;
  wire::append_frame(on_zero, 0, wire::Ping{});
  std::string too_large = hello;
  wire::append_header(too_large, 1, wire::MessageType::Exec, wire::kMostRequestPayload + 1);
  std::string padded = on_zero;
  padded[hello.size() + 10] = 1;
  std::string wrong_version;
  wire::append_frame(wrong_version, 0, wire::Hello{wire::kMagic, wire::kVersion + 1});
  std::string not_for_reading = hello;
  wire::append_frame(not_for_reading, 1, wire::ReadFile{scratch_ / "file", 0, 1U << 20U, 0});
  wire::append_frame(not_for_reading, 1, wire::Resize{});
  ASSERT_TRUE(write_file(scratch_ / "file", std::string(1U << 20U, 'x')));
  std::string too_much_input = hello;
  wire::Exec exec = wire_exec("deaf", "sleep 1000");
  exec.request.standard_input = StandardInput::Streamed;
  wire::append_frame(too_much_input, 1, exec);
  for (int i = 0; i < 3; ++i) {
    wire::append_frame(too_much_input, 1, wire::Input{std::string(1U << 20U, 'x')});
  }
  wire::InitClient neighbour = client();
  for (const std::string& bytes : {std::string(100, 'g'), on_zero, too_large, padded, wrong_version,
                                   not_for_reading, too_much_input}) {
    const UniqueFd stream = connect();
    (void)write_all(stream.get(), bytes);  // it may be closed before all is sent
    std::array<char, 4096> answer{};
    const Deadline patience = Deadline::in(20s);
    while (!patience.has_passed() && ::read(stream.get(), answer.data(), answer.size()) > 0) {
    }
    EXPECT_FALSE(patience.has_passed());
    EXPECT_TRUE(neighbour.ping());
  }
}

TEST_F(InitTest, UnknownMessagesAreDroppedLikeTheTailOfAConversation) {
  wire::Channel channel(connect());
  channel.queue(5, wire::FileData{"late"});
  channel.queue(6, wire::Done{});
  channel.queue(7, wire::Ping{});
  const auto frame = channel.receive(Deadline::in(20s));
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(frame->conversation, 7U);
}

TEST_F(InitTest, MalformedRequestFailsThatConversationAlone) {
  wire::Channel channel(connect());
  wire::Exec empty = wire_exec("a", "");
  empty.request.argv.clear();
  channel.queue(1, empty);
  wire::Exec greedy = wire_exec("b", "true");
  greedy.window = ~0U;
  channel.queue(2, greedy);
  channel.queue(3, wire::Attach{"unknown", 0, 0});
  channel.queue(4, wire::Ping{});
  Heard heard;
  while (!heard.has_ended({1, 2, 3, 4})) {
    const auto frame = channel.receive(Deadline::in(20s));
    ASSERT_TRUE(frame) << frame.error().message;
    heard.take(*frame);
  }
  EXPECT_EQ(heard.ends[1], wire::MessageType::Failed);
  EXPECT_EQ(heard.ends[2], wire::MessageType::Failed);
  EXPECT_EQ(heard.ends[3], wire::MessageType::Failed);
  EXPECT_EQ(heard.ends[4], wire::MessageType::Done);
}

TEST_F(InitTest, TooManyConversationsAreRefusedOneByOne) {
  wire::Channel channel(connect());
  ASSERT_TRUE(write_file(scratch_ / "file", std::string(1U << 20U, 'x')));
  for (std::uint32_t number = 1; number <= 300; ++number) {
    channel.queue(number, wire::WriteFile{scratch_ / ("w" + std::to_string(number)), 0644, 0, 0});
  }
  std::size_t refused = 0;
  while (refused < 300 - 256) {
    const auto frame = channel.receive(Deadline::in(20s));
    ASSERT_TRUE(frame) << frame.error().message;
    ASSERT_EQ(frame->type, wire::MessageType::Failed);
    ++refused;
  }
  EXPECT_TRUE(client().ping());
}

}  // namespace
}  // namespace nutshell::init
