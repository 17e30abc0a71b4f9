#include "backends/docker/engine/demux_transport.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/socket.h"

namespace nutshell::docker {
namespace {

using namespace std::string_literals;

std::string piece(char stream, std::string_view text) {
  std::string head(8, '\0');
  head[0] = stream;
  head[6] = static_cast<char>(text.size() >> 8U);
  head[7] = static_cast<char>(text.size());
  return head.append(text);
}

class DemuxTransportTest : public testing::Test {
 protected:
  void give(const std::string& bytes, std::string early = {}) {
    auto pair = make_socket_pair(SocketKind::Stream);
    ASSERT_TRUE(pair);
    ASSERT_EQ(::send(pair->second.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    demux_ = std::make_unique<DemuxTransport>(
        std::move(*http::make_bare_transport(std::move(pair->first))), std::move(early));
  }
  Result<std::string> read_all() {
    std::string all;
    std::string space(3, '\0');  // smaller than any piece
    for (;;) {
      const std::size_t count = TRY(demux_->read(space.data(), space.size(), Deadline::in(kTime)));
      if (count == 0) return all;
      all.append(space, 0, count);
    }
  }

  static constexpr std::chrono::seconds kTime{5};
  std::unique_ptr<DemuxTransport> demux_;
};

TEST_F(DemuxTransportTest, GivesStandardOutputAndKeepsErrorApart) {
  give(piece(1, "hello ") + piece(2, "oops") + piece(1, "") + piece(1, "world"));
  EXPECT_EQ(*read_all(), "hello world");
  EXPECT_EQ(demux_->error_text(), "oops");
}

TEST_F(DemuxTransportTest, TakesWhatCameBefore) {
  const std::string whole = piece(1, "abcdef");
  give(whole.substr(5), whole.substr(0, 5));
  EXPECT_EQ(*read_all(), "abcdef");
}

TEST_F(DemuxTransportTest, RefusesWhatIsNotInPieces) {
  give("HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(read_all().error().code, ErrorCode::Corrupt);
}

TEST_F(DemuxTransportTest, KeepsABoundedErrorText) {
  std::string flood;
  for (int i = 0; i < 40; ++i)
    flood += piece(2, std::string(1000, 'x'));
  give(flood);
  EXPECT_EQ(*read_all(), "");
  EXPECT_LE(demux_->error_text().size(), 4096U);
}

}  // namespace
}  // namespace nutshell::docker
