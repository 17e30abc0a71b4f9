// Tests connections to servers inside, over a real init and over hostile ones.
#include "runtime/dial.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <csignal>
#include <optional>

#include "base/file.h"
#include "init/network/network_fixture.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::uint16_t kPort = 8080;

class DialInsideTest : public init::NetworkTest {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "under the thread sanitizer a forked init with a network starts no server";
#endif
    init::NetworkTest::SetUp();
  }
  void TearDown() override {
    if (IsSkipped()) return;
    if (server_.joinable()) server_.join();
    init::NetworkTest::TearDown();
  }

  // Runs a server in Python, in which `serve(c)` has the one connection that it accepts; returns
  // once it listens.
  void start_server(const std::string& serve) {
    const std::string script =
        "import os, socket, struct, sys\n"
        "s = socket.create_server(('127.0.0.1', 8080))\n"
        "open('" +
        ready_ + "', 'w').close()\nc = s.accept()[0]\n" + serve;
    server_ = std::jthread([this, script] {
      ExecRequest request;
      request.argv = {"python3", "-c", script};
      request.limits.timeout = 30s;
      const Captured captured = run(request);
      said_ = captured.output + captured.error;
    });
    const Deadline patience = Deadline::in(20s);
    while (!std::filesystem::exists(ready_) && !patience.has_passed())
      std::this_thread::sleep_for(2ms);
  }
  // Returns what the server printed, once it has ended.
  std::string said() {
    server_.join();
    return said_;
  }

  Result<InsideConnection> dial() {
    return InsideConnection::open(client(), kPort,
                                  [this](wire::InitClient free) { kept_ = std::move(free); });
  }
  bool is_kept_stream_of_use() {
    return kept_ && kept_->ping().has_value();
  }

  static std::string read_to_end(int socket) {
    return read_all(socket, 64U << 20U).value_or("");
  }

  const std::string ready_ = (scratch_.path() / "ready").native();
  std::jthread server_;
  std::string said_;
  std::optional<wire::InitClient> kept_;
};

constexpr const char* kEcho =
    "while True:\n"
    "    part = c.recv(65536)\n"
    "    if not part: break\n"
    "    c.sendall(part)\n";

TEST_F(DialInsideTest, CarriesBytesBothWaysAndKeepsTheStream) {
  start_server(kEcho);
  auto connection = dial();
  ASSERT_TRUE(connection) << connection.error().message;
  auto socket = InsideSocket::open(std::move(*connection), -1);
  ASSERT_TRUE(socket);
  const UniqueFd ours = (*socket)->take();
  ASSERT_TRUE(write_all(ours.get(), "hello"));
  ::shutdown(ours.get(), SHUT_WR);
  EXPECT_EQ(read_to_end(ours.get()), "hello");
  socket->reset();
  EXPECT_TRUE(is_kept_stream_of_use());
  EXPECT_EQ(said(), "");
}

TEST_F(DialInsideTest, CarriesManyTimesTheWindow) {
  start_server(kEcho);
  auto connection = dial();
  ASSERT_TRUE(connection) << connection.error().message;
  auto pair = make_socket_pair(SocketKind::Stream);
  ASSERT_TRUE(pair);
  const int outside = pair->first.get();
  std::string sent;
  for (std::size_t i = 0; i < (5U << 20U) / 4; ++i)
    sent.append(reinterpret_cast<const char*>(&i), 4);
  std::jthread writer([&sent, outside] {
    EXPECT_TRUE(write_all(outside, sent));
    ::shutdown(outside, SHUT_WR);
  });
  std::string received;
  std::jthread reader([&received, outside] { received = read_to_end(outside); });
  const auto carried = connection->carry(std::move(pair->second), -1);
  ASSERT_TRUE(carried) << carried.error().message;
  reader.join();
  EXPECT_TRUE(received == sent);
  EXPECT_EQ(carried->sent, sent.size());
  EXPECT_EQ(carried->received, sent.size());
  EXPECT_FALSE(carried->is_broken);
}

TEST_F(DialInsideTest, PortWithoutAServerIsUnavailable) {
  const auto connection = dial();
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(connection.error().message, HasSubstr("no server listens on port 8080"));
  EXPECT_TRUE(is_kept_stream_of_use());
}

TEST_F(DialInsideTest, ClosedSocketEndsTheConnectionInside) {
  start_server(
      "c.sendall(b'x')\n"
      "try:\n"
      "    print(c.recv(1))\n"
      "except OSError as error:\n"
      "    print(type(error).__name__)\n");
  auto connection = dial();
  ASSERT_TRUE(connection) << connection.error().message;
  auto socket = InsideSocket::open(std::move(*connection), -1);
  ASSERT_TRUE(socket);
  UniqueFd ours = (*socket)->take();
  char byte = 0;
  EXPECT_EQ(::read(ours.get(), &byte, 1), 1);
  ours.reset();
  socket->reset();
  EXPECT_EQ(said(), "ConnectionResetError\n");
  EXPECT_TRUE(is_kept_stream_of_use());
}

TEST_F(DialInsideTest, BreaksWhenItIsStopped) {
  start_server(
      "try:\n"
      "    print(c.recv(1))\n"
      "except OSError as error:\n"
      "    print(type(error).__name__)\n");
  auto connection = dial();
  ASSERT_TRUE(connection) << connection.error().message;
  auto pair = make_socket_pair(SocketKind::Stream);
  auto stop = make_socket_pair(SocketKind::Stream);
  stop->first.reset();
  const auto carried = connection->carry(std::move(pair->second), stop->second.get());
  ASSERT_TRUE(carried) << carried.error().message;
  EXPECT_TRUE(carried->is_broken);
  EXPECT_EQ(read_to_end(pair->first.get()), "");
  EXPECT_EQ(said(), "ConnectionResetError\n");
}

TEST_F(DialInsideTest, BrokenServerBreaksTheSocket) {
  start_server(
      "c.recv(1)\n"
      "c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))\n"
      "c.close()\n");
  auto connection = dial();
  ASSERT_TRUE(connection) << connection.error().message;
  auto pair = make_socket_pair(SocketKind::Stream);
  ASSERT_TRUE(write_all(pair->first.get(), "x"));
  const auto carried = connection->carry(std::move(pair->second), -1);
  ASSERT_TRUE(carried) << carried.error().message;
  EXPECT_TRUE(carried->is_broken);
  EXPECT_TRUE(is_kept_stream_of_use());
}

// An init that says all it has to say at once.
class HostileDialTest : public testing::Test {
 protected:
  template <typename... Messages>
  Result<InsideConnection::Carried> carry_hearing(Messages... messages) {
    std::signal(SIGPIPE, SIG_IGN);
    auto [host, init] = std::move(*make_socket_pair(SocketKind::Stream));
    std::string said;
    wire::append_frame(said, 0, wire::Hello{});
    wire::append_frame(said, 1, wire::FlowOpened{});
    (wire::append_frame(said, 1, std::move(messages)), ...);
    std::jthread init_thread([&init = init, &said] {
      (void)write_all(init.get(), said);  // the host may hang up in between
      ::shutdown(init.get(), SHUT_WR);
    });
    auto connection = InsideConnection::open(wire::InitClient(std::move(host)), kPort,
                                             [this](wire::InitClient) { is_kept_ = true; });
    if (!connection) return Failure(connection.error());
    auto pair = std::move(*make_socket_pair(SocketKind::Stream));
    return connection->carry(std::move(pair.second), -1);
  }
  bool is_kept_ = false;
};

TEST_F(HostileDialTest, BytesBeyondTheWindowAreCorrupt) {
  // The socket takes some of them, of which init is told: twice the window is too much in any case.
  const wire::FlowData data{0, std::string(wire::kMostData, 'x')};
  const auto carried = carry_hearing(data, data, data, data, data, data, data, data, data, data,
                                     data, data, data, data, data, data, data, data, data, data,
                                     data, data, data, data, data, data, data, data, data, data);
  ASSERT_FALSE(carried);
  EXPECT_EQ(carried.error().code, ErrorCode::Corrupt);
  EXPECT_FALSE(is_kept_);
}

TEST_F(HostileDialTest, BreachesOfTheProtocolAreCorrupt) {
  const auto is_corrupt = [](const Result<InsideConnection::Carried>& carried) {
    return !carried && carried.error().code == ErrorCode::Corrupt;
  };
  EXPECT_TRUE(is_corrupt(carry_hearing(wire::FlowConsumed{0, 1})));
  EXPECT_TRUE(is_corrupt(carry_hearing(wire::FlowEnd{0}, wire::FlowData{0, "x"})));
  EXPECT_TRUE(is_corrupt(carry_hearing(wire::Done{})));
  EXPECT_TRUE(is_corrupt(carry_hearing(wire::Ended{})));
  EXPECT_FALSE(is_kept_);
}

TEST_F(HostileDialTest, StreamThatEndsInBetweenIsUnavailable) {
  const auto carried = carry_hearing(wire::FlowData{0, "x"});
  ASSERT_FALSE(carried);
  EXPECT_EQ(carried.error().code, ErrorCode::Unavailable);
}

}  // namespace
}  // namespace nutshell
