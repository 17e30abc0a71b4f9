// Tests that the server survives hostile clients.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "http/server_fixture.h"

namespace nutshell::http {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HostileClient : public ServerTest {
 protected:
  void SetUp() override {
    ServerLimits limits;
    limits.head_time = 700ms;
    limits.stall_time = 700ms;
    limits.idle_time = 2s;
    limits.workers = 4;
    limits.connections = 2000;
    start(echo, limits);
  }
};

TEST_F(HostileClient, GarbageIsRefused) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i)
    every_byte += static_cast<char>(i);
  for (const std::string& bytes :
       {every_byte + "\r\n\r\n", std::string("\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 11),
        std::string("GET\r\n\r\n"), std::string("GET / HTTP/9.9\r\nHost: x\r\n\r\n"),
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        std::string("GET http://evil/ HTTP/1.1\r\nHost: x\r\n\r\n"),
        std::string("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n")}) {
    EXPECT_THAT(answer_to(bytes), StartsWith("HTTP/1.1 400 ")) << bytes;
  }
  expect_alive();
}

// Requests that a proxy and this server could split at different places.
TEST_F(HostileClient, SmugglingShapesAreRefused) {
  const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\n";
  const std::string smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::vector<std::string> shapes = {
      "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
      "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
      "Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
      "Content-Length: 4, 4\r\n\r\nabcd",
      "Content-Length: -1\r\n\r\n",
      "Content-Length: +4\r\n\r\nabcd",
      "Content-Length: 0x4\r\n\r\nabcd",
      "Content-Length: 99999999999999999999999999\r\n\r\n",
      "Content-Length : 4\r\n\r\nabcd",
      "Content-Length: 4\n\r\n\r\nabcd",
      "X: a\r\n Content-Length: 4\r\n\r\nabcd",
      "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding: \x0b"
      "chunked\r\n\r\n0\r\n\r\n",
      "Host: y\r\n\r\n",
  };
  for (const std::string& shape : shapes) {
    const std::string answer = answer_to(head + shape + smuggled);
    EXPECT_THAT(answer, testing::AnyOf(StartsWith("HTTP/1.1 400 "), StartsWith("HTTP/1.1 501 ")))
        << shape;
    EXPECT_THAT(answer, Not(HasSubstr("GET /smuggled"))) << shape;
  }
  EXPECT_THAT(answer_to("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 400 "));
  expect_alive();
}

TEST_F(HostileClient, BrokenChunksAreRefused) {
  const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& chunks :
       {std::string("zz\r\n"), std::string("-1\r\n"), std::string("ffffffffffffffffff\r\nabc"),
        std::string("3\r\nabcdef\r\n"), std::string("3\nabc\n0\n\n"),
        "1;" + std::string(200'000, 'e') + "\r\na\r\n"}) {
    const std::string answer = answer_to(head + chunks, 3s);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 ")) << chunks.substr(0, 40);
    EXPECT_THAT(answer, HasSubstr("Connection: close")) << chunks.substr(0, 40);
  }
  expect_alive();
}

TEST_F(HostileClient, LongHeadsAreRefused) {
  EXPECT_THAT(answer_to("GET /" + std::string(200'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"),
              StartsWith("HTTP/1.1 414 "));
  EXPECT_THAT(answer_to("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(1U << 20U, 'a')),
              StartsWith("HTTP/1.1 431 "));
  std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 20'000; ++i)
    many += "X" + std::to_string(i) + ": y\r\n";
  EXPECT_THAT(answer_to(many + "\r\n"), StartsWith("HTTP/1.1 431 "));
  expect_alive();
}

TEST_F(HostileClient, TargetsWithTricksAreRefused) {
  for (const char* target : {"/a/../b", "/%2e%2e/x", "/a%00b", "/a%", "/a%zz", "*", "/./x"}) {
    EXPECT_THAT(answer_to("GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n\r\n"),
                StartsWith("HTTP/1.1 400 "))
        << target;
  }
}

TEST_F(HostileClient, ALongBodyIsRefusedBeforeItComes) {
  EXPECT_THAT(answer_to("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  const UniqueFd socket = connect();
  std::thread flooding([&] {
    (void)write_all(socket.get(), head);
    const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
    for (int i = 0; i < 32; ++i) {
      if (::send(socket.get(), chunk.data(), chunk.size(), MSG_NOSIGNAL) < 0) return;
    }
  });
  EXPECT_THAT(read_to_end(socket.get(), 5s), StartsWith("HTTP/1.1 413 "));
  flooding.join();
  expect_alive();
}

TEST_F(HostileClient, AThousandSlowClientsHoldNoThread) {
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 1000; ++i) {
    slow.push_back(connect());
    const bool has_head = i % 2 == 0;
    (void)write_all(slow.back().get(),
                    has_head ? "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"
                             : "GET / HTTP/1.1\r\nHost:");
    if (i % 100 == 0) expect_alive();
  }
  expect_alive();
  EXPECT_LE(server_->figures().workers, 4U);
  // At last they get an answer and are dropped.
  EXPECT_THAT(read_to_end(slow.front().get(), 5s), StartsWith("HTTP/1.1 408 "));
  EXPECT_THAT(read_to_end(slow.back().get(), 5s), StartsWith("HTTP/1.1 408 "));
}

TEST_F(HostileClient, SlowLongBodiesTakeNoPlaceFromOthers) {
  server_.reset();
  ServerLimits limits;  // the default, whose time limits are half a minute
  limits.workers = 2;
  start(echo, limits);
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 60; ++i) {
    slow.push_back(connect());
    const std::string_view half =
        i % 2 == 0 ? "PUT /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\nfirst"
                   : "PUT /slow HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5";
    ASSERT_GT(::send(slow.back().get(), half.data(), half.size(), 0), 0);
  }
  for (int i = 0; i < 5; ++i)
    expect_alive();
  // They are served once they have sent everything.
  const std::string rest(900'000 - 5, 'x');
  ASSERT_TRUE(write_all(slow.front().get(), rest));
  const std::string answer = read_to_end(slow.front().get(), 3s);
  EXPECT_THAT(answer, HasSubstr("200 OK"));
}

TEST_F(HostileClient, QuickRequestsAreAnsweredHoweverBusyTheOthersAre) {
  server_.reset();
  ServerLimits limits;
  limits.workers = 1;
  limits.are_quick = [](const RequestHead& head) { return head.target.path == "/quick"; };
  std::atomic<bool> is_over = false;
  start(
      [&is_over](Exchange& exchange) {
        while (exchange.target().path == "/stuck" && !is_over)
          std::this_thread::sleep_for(1ms);
        (void)exchange.respond(200, {}, "");
      },
      limits);
  const UniqueFd stuck = connect();
  ASSERT_TRUE(write_all(stuck.get(), "GET /stuck HTTP/1.1\r\nHost: x\r\n\r\n"));
  Client asks = client();
  for (int i = 0; i < 20; ++i) {
    const auto answer = asks.send({.target = "/quick"}, Deadline::in(5s));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 200);
  }
  // A client that reads no answers does not block the others.
  const UniqueFd deaf = connect();
  std::string flood;
  for (int i = 0; i < 20'000; ++i)
    flood += "GET /quick HTTP/1.1\r\nHost: x\r\n\r\n";
  (void)::send(deaf.get(), flood.data(), flood.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  EXPECT_TRUE(asks.send({.target = "/quick"}, Deadline::in(5s)));
  is_over = true;
  server_.reset();  // its handler uses variables that end here
}

TEST_F(HostileClient, ASlowStreamedBodyIsGivenUp) {
  const UniqueFd socket = connect();
  ASSERT_TRUE(
      write_all(socket.get(), "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  std::thread dripping([&] {
    for (int i = 0; i < 30; ++i) {
      if (::send(socket.get(), "1\r\na\r\n", 6, MSG_NOSIGNAL) < 0) return;
      std::this_thread::sleep_for(100ms);
    }
  });
  EXPECT_THAT(read_to_end(socket.get(), 3s), StartsWith("HTTP/1.1 400 "));
  dripping.join();
}

TEST_F(HostileClient, IdleConnectionsAreDroppedAndTooManyRefused) {
  server_.reset();
  ServerLimits limits;
  limits.idle_time = 2s;
  limits.head_time = 2s;
  // Few: even a slow machine accepts them all before the first is dropped.
  limits.connections = 100;
  start(echo, limits);
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 100; ++i)
    idle.push_back(connect());
  EXPECT_THAT(answer_to("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(read_to_end(idle.front().get(), 5s), "");
  EXPECT_EQ(read_to_end(idle.back().get(), 5s), "");
  expect_alive();
}

TEST_F(HostileClient, AHangUpInTheMiddleLeavesNothingBehind) {
  const std::string request =
      "POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  for (std::size_t cut = 0; cut < request.size(); ++cut) {
    const UniqueFd socket = connect();
    ASSERT_TRUE(write_all(socket.get(), request.substr(0, cut)));
  }
  expect_alive();
  for (int i = 0; i < 100 && server_->figures().connections > 0; ++i)
    std::this_thread::sleep_for(50ms);
  EXPECT_EQ(server_->figures().connections, 0U);
}

TEST_F(HostileClient, ARequestMayComeByteByByte) {
  const UniqueFd socket = connect();
  const std::string request = "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
  for (const char letter : request)
    ASSERT_TRUE(write_all(socket.get(), std::string(1, letter)));
  EXPECT_THAT(read_to_end(socket.get(), 300ms), HasSubstr("POST /x abc"));
}

}  // namespace
}  // namespace nutshell::http
