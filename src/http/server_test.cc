#include "http/server.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/defer.h"
#include "http/server_fixture.h"

namespace nutshell::http {
namespace {

using namespace std::chrono_literals;

TEST_F(ServerTest, ServesOneConnectionManyTimes) {
  start(echo);
  Client one = client();
  int socket = -1;
  for (int i = 0; i < 100; ++i) {
    const std::string body(static_cast<std::size_t>(i) * 1000, 'x');
    auto answer = one.send({.method = "POST", .target = "/a", .body = body}, Deadline::in(5s));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "POST /a " + body);
    if (i == 0) socket = one.descriptor();
    EXPECT_EQ(one.descriptor(), socket);
  }
  EXPECT_EQ(server_->figures().connections, 1U);
}

TEST_F(ServerTest, KnowsTheProcessOnTheOtherSide) {
  start([](Exchange& exchange) {
    const auto& process = exchange.remote().process;
    (void)exchange.respond(200, {}, process ? std::to_string(process->process) : "nobody");
  });
  auto answer = client().send({}, Deadline::in(5s));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, std::to_string(::getpid()));
}

TEST_F(ServerTest, TheSocketIsAccessibleToTheOwnerOnly) {
  start(echo);
  struct stat found {};
  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

TEST_F(ServerTest, ReplacesADeadSocketAndNoOtherFile) {
  // Closed at once, so the socket has no listener.
  ASSERT_TRUE(listen_on(path_, SocketKind::Stream));
  start(echo);
  expect_alive();
  EXPECT_EQ(listen_on_unix(path_).error().code, ErrorCode::AlreadyExists);
  ASSERT_TRUE(write_file(scratch_ / "file", "precious"));
  EXPECT_FALSE(listen_on_unix(scratch_ / "file"));
  EXPECT_EQ(*read_file(scratch_ / "file"), "precious");
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  start(echo);
  std::string requests;
  for (int i = 0; i < 20; ++i)
    requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string answers = answer_to(requests);
  std::size_t place = 0;
  for (int i = 0; i < 20; ++i) {
    place = answers.find("GET /" + std::to_string(i) + " ", place);
    ASSERT_NE(place, std::string::npos) << i;
  }
}

TEST_F(ServerTest, StreamsInPieces) {
  start([](Exchange& exchange) {
    ASSERT_TRUE(exchange.begin_stream(200, {{"Content-Type", "text/plain"}}));
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(exchange.write("piece " + std::to_string(i) + "\n"));
    ASSERT_TRUE(exchange.finish());
  });
  Client one = client();
  auto answer = one.send({}, Deadline::in(5s));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "piece 0\npiece 1\npiece 2\n");
  EXPECT_TRUE(one.send({}, Deadline::in(5s)));
}

TEST_F(ServerTest, TakesAStreamedBody) {
  start(echo);
  int left = 3;
  const auto source = [&](std::size_t) -> Result<std::string> {
    return left-- > 0 ? std::string("abc") : std::string();
  };
  auto answer = client().send({.method = "PUT", .target = "/", .source = source}, Deadline::in(5s));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "PUT / abcabcabc");
}

TEST_F(ServerTest, AHandlerThatSaysNothingIsAnErrorOfOurs) {
  start([](Exchange&) {});
  auto answer = client().send({}, Deadline::in(5s));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 500);
}

TEST_F(ServerTest, AForgedHeaderIsNotSent) {
  start([](Exchange& exchange) {
    EXPECT_FALSE(exchange.respond(200, {{"X-Name", "a\r\nSet-Cookie: b"}}, ""));
    (void)exchange.respond(500, {}, "");
  });
  auto answer = client().send({}, Deadline::in(5s));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->headers.find("Set-Cookie"), nullptr);
}

TEST_F(ServerTest, SaysContinueToWhoAsks) {
  start(echo);
  const UniqueFd socket = connect();
  const std::string head =
      "PUT /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
  ASSERT_TRUE(write_all(socket.get(), head));
  std::array<char, 64> space{};
  ASSERT_GT(::recv(socket.get(), space.data(), space.size(), 0), 0);
  EXPECT_EQ(std::string_view(space.data()), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(write_all(socket.get(), "abc"));
  EXPECT_THAT(read_to_end(socket.get(), 300ms), testing::HasSubstr("PUT /x abc"));
}

TEST_F(ServerTest, AHalfClosedClientStillGetsItsAnswer) {
  start(echo);
  const UniqueFd socket = connect();
  ASSERT_TRUE(write_all(socket.get(), "GET /half HTTP/1.1\r\nHost: x\r\n\r\n"));
  ::shutdown(socket.get(), SHUT_WR);
  EXPECT_THAT(read_to_end(socket.get(), 2s), testing::HasSubstr("GET /half"));
}

TEST_F(ServerTest, TellsWhenTheClientIsGone) {
  std::atomic<bool> is_inside{false};
  std::atomic<bool> has_noticed{false};
  start([&](Exchange& exchange) {
    EXPECT_FALSE(exchange.client_is_gone());
    is_inside = true;
    has_noticed = *wait_for(exchange.hang_up_descriptor(), POLLIN, Deadline::in(5s));
    EXPECT_TRUE(exchange.client_is_gone());
  });
  {
    const UniqueFd socket = connect();
    ASSERT_TRUE(write_all(socket.get(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    while (!is_inside)
      std::this_thread::yield();
  }
  server_->drain(Deadline::in(5s));
  EXPECT_TRUE(has_noticed);
}

TEST_F(ServerTest, HandsOutTheBareSocket) {
  start([](Exchange& exchange) {
    auto socket = exchange.upgrade_raw("nutshell-wire");
    ASSERT_TRUE(socket) << socket.error().message;
    ASSERT_TRUE(write_all(socket->get(), "hello"));
    std::array<char, 3> space{};
    ASSERT_EQ(::recv(socket->get(), space.data(), space.size(), MSG_WAITALL), 3);
    ASSERT_TRUE(write_all(socket->get(), std::string(space.data(), 3)));
  });
  Client one = client();
  auto socket =
      one.upgrade_raw({.method = "POST", .target = "/"}, "nutshell-wire", Deadline::in(5s));
  ASSERT_TRUE(socket) << socket.error().message;
  ASSERT_TRUE(write_all(socket->get(), "abc"));
  EXPECT_EQ(read_to_end(socket->get(), 5s), "helloabc");
}

TEST_F(ServerTest, RelaysAnUpgradedConnection) {
  auto pair = make_socket_pair(SocketKind::Stream);
  ASSERT_TRUE(pair);
  std::thread far([&] {
    std::array<char, 4096> space{};
    for (;;) {
      const ssize_t count = ::recv(pair->second.get(), space.data(), space.size(), 0);
      if (count <= 0) break;
      (void)write_all(pair->second.get(), {space.data(), static_cast<std::size_t>(count)});
    }
    pair->second.reset();
  });
  start([&](Exchange& exchange) {
    EXPECT_TRUE(exchange.upgrade_and_relay("echo", {.stream = pair->first.get()}));
  });
  Client one = client();
  auto socket = one.upgrade_raw({.method = "POST", .target = "/"}, "echo", Deadline::in(5s));
  ASSERT_TRUE(socket) << socket.error().message;
  const std::string much(1U << 20U, 'x');
  std::thread writer([&] {
    (void)write_all(socket->get(), much);
    ::shutdown(socket->get(), SHUT_WR);
  });
  EXPECT_EQ(read_to_end(socket->get(), 10s), much);
  writer.join();
  far.join();
  server_.reset();  // its handler uses the pair
}

TEST_F(ServerTest, SpeaksWebSocket) {
  start([](Exchange& exchange) {
    auto socket = exchange.upgrade_websocket(1U << 20U);
    ASSERT_TRUE(socket) << socket.error().message;
    for (;;) {
      auto message = socket->next(Deadline::in(5s));
      if (!message || message->event != WebSocket::Event::Message) return;
      (void)socket->send(message->kind, message->bytes);
    }
  });
  auto socket = client().upgrade_websocket({.target = "/"}, Deadline::in(5s));
  ASSERT_TRUE(socket) << socket.error().message;
  for (const std::size_t size : {0U, 1U, 125U, 126U, 65535U, 65536U, 1U << 20U}) {
    const std::string sent(size, 'w');
    ASSERT_TRUE(socket->send(WebSocket::Kind::Text, sent));
    auto got = socket->next(Deadline::in(5s));
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->event, WebSocket::Event::Message);
    EXPECT_EQ(got->bytes, sent);
  }
  ASSERT_TRUE(socket->send(WebSocket::Kind::Text, "\xff\xfe"));
  EXPECT_EQ(socket->next(Deadline::in(5s))->event, WebSocket::Event::Closed);
}

TEST_F(ServerTest, DrainsWhatRuns) {
  std::atomic<bool> is_inside{false};
  start([&](Exchange& exchange) {
    is_inside = true;
    std::this_thread::sleep_for(200ms);
    (void)exchange.respond(200, {}, "done");
  });
  Result<Client::Response> answer;
  std::thread asking([&] { answer = client().send({}, Deadline::in(5s)); });
  while (!is_inside)
    std::this_thread::yield();
  EXPECT_TRUE(server_->drain(Deadline::in(5s)));
  asking.join();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "done");
  EXPECT_FALSE(client().send({}, Deadline::in(1s)));
}

// The poller has a higher priority where allowed, and it starts the workers.
TEST_F(ServerTest, HandlersRunWithThePriorityOfTheirProcess) {
  start([&](Exchange& exchange) {
    const int priority = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
    (void)exchange.respond(200, {}, std::to_string(priority));
  });
  const auto answer = client().send({}, Deadline::in(5s));
  ASSERT_TRUE(answer) << answer.error().message;
  const int usual = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::getpid()));
  EXPECT_EQ(answer->body, std::to_string(usual));
}

TEST_F(ServerTest, CutsWhatDoesNotEnd) {
  start([&](Exchange& exchange) {
    (void)wait_for(exchange.hang_up_descriptor(), POLLIN, Deadline::in(20s));
  });
  std::thread asking([&] { EXPECT_FALSE(client().send({}, Deadline::in(20s))); });
  while (server_->figures().requests == 0)
    std::this_thread::yield();
  EXPECT_FALSE(server_->drain(Deadline::in(50ms)));
  asking.join();
}

}  // namespace
}  // namespace nutshell::http
