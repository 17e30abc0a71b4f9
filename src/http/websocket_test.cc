#include "http/websocket.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/socket.h"

namespace nutshell::http {
namespace {

using namespace std::chrono_literals;

class WebSocketTest : public testing::Test {
 protected:
  // Returns what the server received from raw bytes, or its error.
  Result<WebSocket::Received> receive(std::string_view bytes) {
    auto pair = make_socket_pair(SocketKind::Stream);
    EXPECT_TRUE(pair);
    far_ = std::move(pair->second);
    WebSocket::Options options;
    options.most_message_bytes = 1000;
    WebSocket socket(std::move(*make_bare_transport(std::move(pair->first))), "", options);
    EXPECT_TRUE(write_all(far_.get(), bytes));
    return socket.take_next();
  }

  static std::string frame(unsigned first, std::string payload) {
    std::string bytes;
    bytes += static_cast<char>(first);
    bytes += static_cast<char>(0x80U | payload.size());
    bytes += std::string("\1\2\3\4", 4);
    for (std::size_t i = 0; i < payload.size(); ++i)
      bytes += static_cast<char>(payload[i] ^ static_cast<char>(1 + i % 4));
    return bytes;
  }

  UniqueFd far_;
};

TEST_F(WebSocketTest, JoinsThePartsOfAMessage) {
  const auto got = receive(frame(0x01, "ab") + frame(0x89, "ping") + frame(0x80, "cd"));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->event, WebSocket::Event::Message);
  EXPECT_EQ(got->bytes, "abcd");
}

TEST_F(WebSocketTest, WaitsForTheRest) {
  const std::string whole = frame(0x82, "abc");
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    EXPECT_EQ(receive(whole.substr(0, cut))->event, WebSocket::Event::Nothing);
}

TEST_F(WebSocketTest, AHangUpIsAnEnd) {
  auto pair = make_socket_pair(SocketKind::Stream);
  WebSocket socket(std::move(*make_bare_transport(std::move(pair->first))), "", {});
  pair->second.reset();
  EXPECT_EQ(socket.take_next()->event, WebSocket::Event::Closed);
  EXPECT_FALSE(socket.send(WebSocket::Kind::Text, "x"));
}

TEST_F(WebSocketTest, SendsWithoutWaiting) {
  auto pair = make_socket_pair(SocketKind::Stream);
  WebSocket near(std::move(*make_bare_transport(std::move(pair->first))), "", {});
  WebSocket::Options options;
  options.role = WebSocket::Role::Client;
  options.most_message_bytes = 8U << 20U;
  WebSocket far(std::move(*make_bare_transport(std::move(pair->second))), "", options);
  const std::string large(4U << 20U, 'x');  // more than a socket holds
  EXPECT_FALSE(near.try_send(WebSocket::Kind::Binary, large).value());
  EXPECT_FALSE(near.flush().value());
  WebSocket::Received received;
  while (received.event == WebSocket::Event::Nothing) {
    received = far.take_next().value();
    ASSERT_TRUE(near.flush());
  }
  EXPECT_TRUE(received.bytes == large);
  EXPECT_TRUE(near.flush().value());
  EXPECT_TRUE(near.try_send(WebSocket::Kind::Text, "small").value());
  EXPECT_EQ(far.next(Deadline::in(30s))->bytes, "small");
}

TEST_F(WebSocketTest, RefusesWhatTheStandardForbids) {
  const std::string long_ping = frame(0x89, std::string(120, 'x'));
  const std::vector<std::string> breaches = {
      std::string("\x81\x01"
                  "a",
                  3),                                               // not masked
      frame(0xC1, "a"),                                             // reserved bit
      frame(0x80, "a"),                                             // continues nothing
      frame(0x01, "a") + frame(0x01, "b"),                          // begins a second message
      frame(0x09, "a"),                                             // fragmented control frame
      frame(0x83, "a"),                                             // unknown data opcode
      frame(0x8B, "a"),                                             // unknown control opcode
      frame(0x81, "\xff"),                                          // not UTF-8
      std::string("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff", 10),  // 2^63 bytes
      std::string("\x82\xfe\x04\x00\1\2\3\4", 8),                   // longer than allowed
      std::string("\x89\xfe\x00\x80\1\2\3\4", 8),                   // long control frame
  };
  for (const std::string& breach : breaches)
    EXPECT_FALSE(receive(breach)) << testing::PrintToString(breach);
  std::string parts = frame(0x02, std::string(100, 'x'));
  for (int i = 0; i < 10; ++i)
    parts += frame(0x00, std::string(100, 'x'));
  EXPECT_FALSE(receive(parts));
}

}  // namespace
}  // namespace nutshell::http
