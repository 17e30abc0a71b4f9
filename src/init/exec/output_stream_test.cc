#include "init/exec/output_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "base/file.h"

namespace nutshell::init {
namespace {

constexpr std::uint32_t kConversation = 9;

class OutputStreamTest : public testing::Test {
 protected:
  void open(std::uint32_t window,
            OutputStream::WhenFull when_full = OutputStream::WhenFull::Waits) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    writer_.reset(ends[1]);
    stream_.emplace(wire::Stream::Output, UniqueFd(ends[0]), window, when_full);
  }
  void write_and_read(const std::string& bytes) {
    ASSERT_TRUE(write_all(writer_.get(), bytes));
    stream_->read_available(allowance_);
  }
  // Sends one frame; returns its bytes, after a check of their offset.
  std::string send_one() {
    const std::string bytes(stream_->unsent_frame(kConversation));
    wire::FrameReader reader(wire::kMostReplyPayload);
    const auto [space, size] = reader.space();
    EXPECT_LE(bytes.size(), size);
    bytes.copy(space, size);
    reader.filled(bytes.size());
    const auto frame = reader.next();
    EXPECT_TRUE(frame && *frame);
    EXPECT_EQ((*frame)->conversation, kConversation);
    auto output = wire::decode<wire::Output>((*frame)->payload);
    EXPECT_TRUE(output);
    EXPECT_EQ(output->offset, next_offset_);
    next_offset_ += output->bytes.size();
    stream_->mark_sent();
    return output->bytes;
  }
  std::string send_all() {
    std::string bytes;
    while (stream_->has_unsent())
      bytes += send_one();
    return bytes;
  }

  UniqueFd writer_;
  std::optional<OutputStream> stream_;
  std::uint64_t allowance_ = 1U << 30U;
  std::uint64_t next_offset_ = 0;
};

TEST_F(OutputStreamTest, PassesOnWhatIsWritten) {
  open(1000);
  write_and_read("one");
  write_and_read("two");
  EXPECT_EQ(send_all(), "onetwo");
  EXPECT_EQ(stream_->written(), 6U);
}

TEST_F(OutputStreamTest, StopsReadingAtTheWindowAndGoesOnWhenConsumed) {
  open(10);
  write_and_read("0123456789abcdef");
  EXPECT_EQ(stream_->descriptor(), -1);
  EXPECT_EQ(send_all(), "0123456789");
  stream_->consume(4);
  EXPECT_NE(stream_->descriptor(), -1);
  stream_->read_available(allowance_);
  EXPECT_EQ(send_all(), "abcd");
}

TEST_F(OutputStreamTest, ForgedConsumptionOpensNoMoreThanTheWindow) {
  open(10);
  write_and_read("0123456789abcdef");
  stream_->consume(~0ULL);
  stream_->read_available(allowance_);
  EXPECT_EQ(stream_->kept(), 16U);
  stream_->consume(3);  // a smaller offset is ignored
  EXPECT_FALSE(stream_->can_rewind(9));
}

// Blocks of five bytes; `sent` of them were sent and nothing was consumed.
class RewindTest : public OutputStreamTest, public testing::WithParamInterface<int> {};

TEST_P(RewindTest, GoesOnFromEveryOffset) {
  const std::string all = "aaaaabbbbbcccccddddd";
  for (std::size_t offset = 0; offset <= all.size(); ++offset) {
    open(1000);
    next_offset_ = 0;
    for (std::size_t at = 0; at < all.size(); at += 5)
      write_and_read(all.substr(at, 5));
    for (int i = 0; i < GetParam(); ++i)
      send_one();
    ASSERT_TRUE(stream_->can_rewind(offset)) << offset;
    stream_->rewind(offset);
    next_offset_ = offset;
    EXPECT_EQ(send_all(), all.substr(offset)) << offset;
  }
}

INSTANTIATE_TEST_SUITE_P(AfterSending, RewindTest, testing::Range(0, 5));

TEST_F(OutputStreamTest, CannotGoBackToWhatWasConsumedNorBeyondTheEnd) {
  open(1000);
  write_and_read("0123456789");
  send_all();
  stream_->consume(5);
  EXPECT_FALSE(stream_->can_rewind(4));
  EXPECT_FALSE(stream_->can_rewind(11));
  ASSERT_TRUE(stream_->can_rewind(5));
  stream_->rewind(5);
  next_offset_ = 5;
  EXPECT_EQ(send_all(), "56789");
}

TEST_F(OutputStreamTest, BeyondTheAllowanceIsCountedAndDropped) {
  open(1000);
  allowance_ = 4;
  write_and_read("0123456789");
  EXPECT_EQ(send_all(), "0123");
  EXPECT_EQ(stream_->written(), 10U);
  EXPECT_EQ(stream_->kept(), 4U);
}

TEST_F(OutputStreamTest, DiscardsWhatComesAfterTheEnd) {
  open(4);
  write_and_read("0123");
  stream_->discard_from_now();
  EXPECT_NE(stream_->descriptor(), -1);  // those left behind must not block
  write_and_read("late");
  EXPECT_EQ(send_all(), "0123");
  EXPECT_EQ(stream_->written(), 4U);
}

TEST_F(OutputStreamTest, EndIsWhatLiesInThePipeWhenTheCommandEnds) {
  open(4);
  ASSERT_TRUE(write_all(writer_.get(), "01234567"));
  stream_->note_end();
  stream_->read_available(allowance_);
  EXPECT_FALSE(stream_->has_read_to_end());  // the window is full
  send_all();
  stream_->consume(4);
  stream_->read_available(allowance_);
  EXPECT_TRUE(stream_->has_read_to_end());
}

TEST_F(OutputStreamTest, ClosedPipeIsTheEnd) {
  open(1000);
  writer_.reset();
  stream_->read_available(allowance_);
  EXPECT_FALSE(stream_->is_open());
  EXPECT_TRUE(stream_->has_read_to_end());
}

TEST_F(OutputStreamTest, DropsTheOldestWhereNobodyReadsAndTellsWhere) {
  open(1000, OutputStream::WhenFull::DropsOldest);
  const std::string chunk(4096 - 64, 'x');  // a frame that send_one() takes whole
  constexpr std::uint64_t kWritten = 3000 * (4096 - 64);
  for (std::uint64_t written = 0; written < kWritten; written += chunk.size())
    write_and_read(chunk);
  EXPECT_NE(stream_->descriptor(), -1);  // the command is not blocked
  EXPECT_EQ(stream_->written(), kWritten);
  EXPECT_TRUE(stream_->can_rewind(0));
  stream_->rewind(0);
  const std::uint64_t kept = OutputStream::kMostUnread / chunk.size() * chunk.size();
  next_offset_ = kWritten - kept;
  EXPECT_EQ(send_all().size(), kept);
}

TEST_F(OutputStreamTest, DropsNothingWhileAHostListens) {
  open(1000, OutputStream::WhenFull::DropsOldest);
  stream_->set_listener(true);
  write_and_read(std::string(1000, 'x'));
  EXPECT_EQ(stream_->descriptor(), -1);  // the command waits
  stream_->set_listener(false);
  EXPECT_NE(stream_->descriptor(), -1);
  stream_->set_listener(true);
  EXPECT_EQ(send_all().size(), 1000U);
}

}  // namespace
}  // namespace nutshell::init
