#include "egress/inspect/http_gate.h"

#include "egress/inspect/gate_fixture.h"

namespace nutshell::egress {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kGet = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

TEST_F(GateTest, PassesRequestsOnOneConnection) {
  start_mirror();
  const int socket = connect_sandbox();
  for (int i = 0; i < 3; ++i) {
    send_text(socket, "GET /x?y HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\n\r\n");
    EXPECT_THAT(read_text(socket, "*/*\r\n\r\n"),
                HasSubstr("HTTP/1.1 200 Fine\r\nContent-Length: 48\r\nConnection: "
                          "keep-alive\r\n\r\nGET /x?y HTTP/1.1\r\nHost: a.test\r\n"));
  }
  end_sandbox();
  EXPECT_EQ(guard_.connections, 1);
  EXPECT_EQ(guard_.asked.size(), 3U);
}

TEST_F(GateTest, AnswersPipelinedRequestsInOrder) {
  start_mirror();
  const std::string answer = answer_to(
      "GET /one HTTP/1.1\r\nHost: a.test\r\n\r\nGET /two HTTP/1.1\r\nHost: a.test\r\n\r\n");
  EXPECT_LT(answer.find("GET /one"), answer.find("GET /two"));
  EXPECT_EQ(guard_.asked.size(), 2U);
}

TEST_F(GateTest, RefusesByTheGuardAndGoesOn) {
  start_mirror();
  const int socket = connect_sandbox();
  send_text(socket, "GET /refused/x HTTP/1.1\r\nHost: a.test\r\n\r\n");
  EXPECT_THAT(read_text(socket, "allowed\n"),
              testing::AllOf(StartsWith("HTTP/1.1 403 Forbidden by the network policy\r\n"),
                             HasSubstr("nutshell: GET http://a.test/refused/x is not allowed\n")));
  send_text(socket, kGet);
  EXPECT_THAT(read_text(socket, "a.test\r\n\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(GateTest, RefusesARequestWithABodyAndEnds) {
  start_mirror();
  const std::string answer =
      answer_to("POST /refused HTTP/1.1\r\nHost: a.test\r\nContent-Length: 35\r\n\r\n" + kGet);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(answer, Not(HasSubstr("200")));
}

TEST_F(GateTest, RefusesASecondRequestToAnotherHost) {
  start_mirror();
  guard_.places["b.test"] = server_->port();
  const int socket = connect_sandbox();
  send_text(socket, kGet);
  EXPECT_THAT(read_text(socket, "a.test\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  send_text(socket, "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n");
  EXPECT_THAT(read_text(socket), StartsWith("HTTP/1.1 421"));
  end_sandbox();
  EXPECT_EQ(guard_.connections, 1);
  EXPECT_THAT(guard_.refusals, ElementsAre(HasSubstr("names b.test:80")));
}

TEST_F(GateTest, ConnectsAnyHostThatTheGuardAllowsIfItServesAProxy) {
  start_mirror();
  guard_.places["b.test"] = server_->port();
  const int socket = connect_sandbox("", 0);
  send_text(socket, "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n");
  EXPECT_THAT(read_text(socket, "a.test\r\n\r\n"), HasSubstr("GET / HTTP/1.1\r\nHost: a.test"));
  send_text(socket, "GET http://b.test:8/ HTTP/1.1\r\nHost: b.test:8\r\n\r\n");
  EXPECT_THAT(read_text(socket, "b.test:8\r\n\r\n"), HasSubstr("GET / HTTP/1.1\r\nHost: b.test:8"));
  send_text(socket, "GET http://c.test/ HTTP/1.1\r\nHost: c.test\r\n\r\n");
  EXPECT_THAT(read_text(socket, "a.test\n"),
              HasSubstr("nutshell: c.test is not allowed; allowed are: a.test\n"));
}

TEST_F(GateTest, SmuggledRequestsReachNoServer) {
  start_mirror();
  for (const std::string& bytes : std::vector<std::string>{
           "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\nTransfer-Encoding: "
           "chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n",
           "GET / HTTP/1.1\nHost: a.test\n\nGET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a.test\r\nX: a\nGET /smuggled HTTP/1.1\r\n\r\n"}) {
    EXPECT_THAT(answer_to(bytes), StartsWith("HTTP/1.1 400")) << bytes;
  }
  EXPECT_EQ(guard_.connections, 0);
}

TEST_F(GateTest, FramesBodiesAnew) {
  std::string got;
  start_server([&](UniqueFd socket) {
    got = read_text(socket.get(), "0\r\n\r\n");
    send_text(socket.get(),
              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
              "3;ext=1\r\nabc\r\n1\r\nd\r\n0\r\nX-Trailer: 1\r\n\r\n");
  });
  const std::string answer = answer_to(
      "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n"
      "2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\nX: smuggled\r\n\r\n");
  EXPECT_EQ(got.substr(got.find("\r\n\r\n") + 4), "5\r\nhello\r\n0\r\n\r\n");
  EXPECT_THAT(got, Not(HasSubstr("smuggled")));
  EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), "4\r\nabcd\r\n0\r\n\r\n");
}

TEST_F(GateTest, ABrokenChunkEndsTheConnection) {
  start_mirror();
  EXPECT_THAT(answer_to("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: "
                        "chunked\r\n\r\nzz\r\nhe\r\n0\r\n\r\n"),
              Not(HasSubstr(" 200 ")));
}

TEST_F(GateTest, GivesTheServersAnswersInTheClientsVersion) {
  start_server([](UniqueFd socket) {
    (void)read_text(socket.get(), "\r\n\r\n");
    send_text(socket.get(), "HTTP/1.0 200 OK\r\nAlt-Svc: h3=\":443\"\r\n\r\nto the end");
  });
  const std::string modern = answer_to(kGet);
  EXPECT_THAT(modern, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(modern, testing::EndsWith("a\r\nto the end\r\n0\r\n\r\n"));
  EXPECT_THAT(modern, Not(HasSubstr("Alt-Svc")));
  const std::string old = answer_to("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n");
  EXPECT_THAT(old, testing::EndsWith("Connection: close\r\n\r\nto the end"));
}

TEST_F(GateTest, AnswersWithoutABodyHaveNone) {
  start_server([](UniqueFd socket) {
    (void)read_text(socket.get(), "\r\n\r\n");
    send_text(socket.get(), "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    (void)read_text(socket.get(), "\r\n\r\n");
    send_text(socket.get(), "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n");
    (void)read_text(socket.get(), "\r\n\r\n");
    send_text(socket.get(), "HTTP/1.1 204 No Content\r\n\r\n");
  });
  const int socket = connect_sandbox();
  send_text(socket, "HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n");
  EXPECT_THAT(read_text(socket, "\r\n\r\n"), HasSubstr("Content-Length: 5\r\n"));
  send_text(socket, kGet);
  EXPECT_THAT(read_text(socket, "\r\n\r\n"), HasSubstr("304 Not Modified\r\nETag"));
  send_text(socket, kGet);
  EXPECT_THAT(read_text(socket, "\r\n\r\n"), HasSubstr("204 No Content\r\nConnection"));
}

TEST_F(GateTest, ContinuesItselfAndSkipsInterimAnswers) {
  std::string got;
  start_server([&](UniqueFd socket) {
    got = read_text(socket.get(), "hello");
    send_text(socket.get(),
              "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
              "2\r\n\r\nok");
  });
  const int socket = connect_sandbox();
  send_text(socket,
            "PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(read_text(socket, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  send_text(socket, "hello");
  EXPECT_THAT(read_text(socket, "ok"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got, Not(HasSubstr("Expect")));
}

TEST_F(GateTest, CarriesLargeBodiesBothWaysAtOnce) {
  constexpr std::size_t kSize = 8U << 20U;
  start_server([](UniqueFd socket) {  // an echo that sends before it has read all
    const std::string begin = read_text(socket.get(), "\r\n\r\n");
    const std::string body = begin.substr(begin.find("\r\n\r\n") + 4);
    send_text(socket.get(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body);
    std::array<char, 65536> space{};
    for (std::size_t left = kSize - body.size(); left > 0;) {
      const ssize_t count = ::recv(socket.get(), space.data(), space.size(), 0);
      if (count <= 0) return;
      send_text(socket.get(), {space.data(), static_cast<std::size_t>(count)});
      left -= std::min(left, static_cast<std::size_t>(count));
    }
  });
  const int socket = connect_sandbox();
  std::thread sender([&] {
    send_text(socket, "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: " +
                          std::to_string(kSize) + "\r\n\r\n");
    const std::string part(65536, 'x');
    for (std::size_t sent = 0; sent < kSize; sent += part.size())
      send_text(socket, part);
  });
  const std::string answer = read_text(socket, "0\r\n\r\n");
  sender.join();
  EXPECT_EQ(static_cast<std::size_t>(std::count(answer.begin(), answer.end(), 'x')), kSize);
}

TEST_F(GateTest, PassesAnEarlyAnswerAndEnds) {
  start_server([](UniqueFd socket) {
    (void)read_text(socket.get(), "\r\n\r\n");
    send_text(socket.get(), "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
  });
  const int socket = connect_sandbox();
  send_text(socket, "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000000\r\n\r\nx");
  EXPECT_THAT(read_text(socket), StartsWith("HTTP/1.1 413 Too Large\r\n"));
}

TEST_F(GateTest, RepeatsAGetOnAConnectionThatTheServerClosed) {
  start_server([](UniqueFd socket) {  // one answer for each connection, without a word about it
    (void)read_text(socket.get(), "\r\n\r\n");
    send_text(socket.get(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  const int socket = connect_sandbox();
  for (int i = 0; i < 3; ++i) {
    send_text(socket, kGet);
    EXPECT_THAT(read_text(socket, "ok"), HasSubstr("\r\n\r\nok"));
  }
}

TEST_F(GateTest, TellsWhenTheServerFails) {
  start_server([](UniqueFd socket) { (void)read_text(socket.get(), "\r\n\r\n"); });
  EXPECT_THAT(answer_to(kGet), HasSubstr("nutshell: the server hung up before it answered"));
  guard_.places["a.test"] = 1;  // nobody listens there
  EXPECT_THAT(answer_to(kGet), StartsWith("HTTP/1.1 502"));
}

TEST_F(GateTest, CarriesWebSocketsAfterTheServerAgrees) {
  start_server([](UniqueFd socket) {
    (void)read_text(socket.get(), "\r\n\r\n");
    send_text(socket.get(),
              "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "
              "websocket\r\nSec-WebSocket-Accept: x\r\n\r\nearly");
    send_text(socket.get(), read_text(socket.get(), "ping") + "-pong");
  });
  const int socket = connect_sandbox();
  send_text(socket,
            "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: "
            "websocket\r\nSec-WebSocket-Key: k\r\n\r\n");
  EXPECT_THAT(read_text(socket, "early"), HasSubstr("Sec-WebSocket-Accept: x\r\n"));
  send_text(socket, "ping");
  EXPECT_EQ(read_text(socket, "-pong"), "ping-pong");
}

TEST_F(GateTest, LetsNoServerChangeTheProtocolUnasked) {
  start_server([](UniqueFd socket) {
    (void)read_text(socket.get(), "\r\n\r\n");
    send_text(socket.get(),
              "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
  });
  EXPECT_THAT(answer_to("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: "
                        "h2c\r\n\r\n"),
              StartsWith("HTTP/1.1 502"));
}

TEST_F(GateTest, SlowHeadsAndBodiesEndInTime) {
  start_mirror();
  settings_.times.head = 300ms;
  settings_.times.client = 300ms;
  const int head = connect_sandbox();
  send_text(head, "GET / HTTP/1.1\r\nHost: ");
  EXPECT_THAT(read_text(head), StartsWith("HTTP/1.1 408"));
  end_sandbox();
  start_server([](UniqueFd socket) { (void)read_text(socket.get()); });
  const int body = connect_sandbox();
  send_text(body, "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhe");
  EXPECT_THAT(read_text(body), StartsWith("HTTP/1.1 504"));
}

TEST_F(GateTest, HeadsAreBounded) {
  start_mirror();
  EXPECT_THAT(answer_to("GET / HTTP/1.1\r\nHost: a.test\r\nX: " + std::string(70'000, 'x')),
              StartsWith("HTTP/1.1 431"));
}

TEST_F(GateTest, TheAllowanceEndsAConnection) {
  start_mirror();
  guard_.most_bytes = 100;
  const int socket = connect_sandbox();
  send_text(socket, kGet);
  EXPECT_LT(read_text(socket).size(), 200U);
}

}  // namespace
}  // namespace nutshell::egress
