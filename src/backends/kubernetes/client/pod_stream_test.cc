#include "backends/kubernetes/client/pod_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <functional>

#include "backends/kubernetes/client/api_fixture.h"

namespace nutshell::kubernetes {
namespace {

using namespace std::chrono_literals;
using http::WebSocket;
using testing::HasSubstr;

Deadline soon() {
  return Deadline::in(60s);
}

class PodStreamTest : public ApiTest {
 protected:
  using Talk = std::function<void(WebSocket&)>;

  // Accepts the handshake with this protocol, talks, and closes as the API server does.
  static Step accept(const std::string& protocol, Talk talk) {
    return [protocol, talk = std::move(talk)](http::Exchange& exchange) {
      auto socket = exchange.upgrade_websocket(32U << 20U, protocol);
      ASSERT_TRUE(socket) << socket.error().message;
      talk(*socket);
      socket->close(1000, "");
    };
  }
  static void say(WebSocket& socket, char channel, std::string_view text) {
    EXPECT_TRUE(socket.send(WebSocket::Kind::Binary, std::string(1, channel) + std::string(text)));
  }
  // Reads messages until the client closes a channel, or the connection; returns what came on 0.
  static std::string read_input(WebSocket& socket) {
    std::string all;
    for (;;) {
      const auto got = socket.next(soon());
      if (!got || got->event != WebSocket::Event::Message) return all + "<closed>";
      if (got->bytes == std::string_view("\xff\x00", 2)) return all + "<end>";
      all += got->bytes.substr(1);
    }
  }

  static std::string read_to_end(http::Transport& transport) {
    std::string all;
    std::string space(1000, '\0');
    for (;;) {
      const auto count = transport.read(space.data(), space.size(), soon());
      if (!count) return all + "<" + count.error().message + ">";
      if (*count == 0) return all;
      all.append(space, 0, *count);
    }
  }

  Result<std::unique_ptr<ChannelTransport>> exec() {
    return open_exec(api_, {{"agents", "pod-1"}, "main", {"sh", "-c", "a b&c"}}, soon());
  }

  ApiClient api_ = api();
};

TEST_F(PodStreamTest, CarriesInputOutputAndTheExitCode) {
  script({accept("v5.channel.k8s.io", [](WebSocket& socket) {
    say(socket, 1, "");  // the server begins with empty messages
    const std::string input = read_input(socket);
    say(socket, 2, "warning");
    say(socket, 1, "got " + input);
    say(socket, 3,
        R"({"kind": "Status", "status": "Failure", "reason": "NonZeroExitCode", "code": 500,
            "details": {"causes": [{"reason": "ExitCode", "message": "7"}]}})");
  })});
  auto stream = exec();
  ASSERT_TRUE(stream) << stream.error().message;
  ASSERT_TRUE((*stream)->write("hello", soon()));
  (*stream)->end_writing();
  EXPECT_EQ(read_to_end(**stream), "got hello<end>");
  EXPECT_EQ((*stream)->exit_code().value(), 7);
  EXPECT_EQ((*stream)->error_text(), "warning");
  EXPECT_EQ(lines().at(0),
            "GET /prefix/api/v1/namespaces/agents/pods/pod-1/exec?stdin=true&stdout=true&"
            "stderr=true&container=main&command=sh&command=-c&command=a b&c");
}

TEST_F(PodStreamTest, FallsBackToTheOlderProtocol) {
  script({answer(403, ""), accept("v4.channel.k8s.io", [](WebSocket& socket) {
            EXPECT_EQ(read_input(socket), "x<closed>");
          })});
  auto stream = exec();
  ASSERT_TRUE(stream) << stream.error().message;
  ASSERT_TRUE((*stream)->write("x", soon()));
  (*stream)->end_writing();
  (void)read_to_end(**stream);
}

TEST_F(PodStreamTest, CarriesMuchBothWaysAtOnce) {
  // The server echoes; nobody waits for the other side to read everything.
  constexpr std::size_t kSize = 8U << 20U;
  script({accept("v5.channel.k8s.io", [](WebSocket& socket) {
    std::size_t got = 0;
    while (got < kSize) {
      const auto message = socket.next(soon());
      ASSERT_TRUE(message && message->event == WebSocket::Event::Message);
      EXPECT_LE(message->bytes.size(), 32U * 1024 + 1);
      got += message->bytes.size() - 1;
      say(socket, 1, std::string_view(message->bytes).substr(1));
    }
    say(socket, 3, R"({"kind": "Status", "status": "Success"})");
  })});
  auto stream = exec();
  ASSERT_TRUE(stream) << stream.error().message;
  std::string sent(kSize, '\0');
  for (std::size_t i = 0; i < kSize; ++i)
    sent[i] = static_cast<char>(i * 7 + i / 251);
  std::string got;
  std::string space(64U << 10U, '\0');
  std::size_t written = 0;
  while (got.size() < kSize) {
    short events = POLLIN;
    if (written < kSize) {
      const auto step = (*stream)->write_some(std::string_view(sent).substr(written));
      ASSERT_TRUE(step) << step.error().message;
      written += step->bytes;
      if (written < kSize) events |= POLLOUT;
    }
    const auto step = (*stream)->read_some(space.data(), space.size());
    ASSERT_TRUE(step) << step.error().message;
    ASSERT_NE(step->progress, http::Transport::Progress::End);
    got.append(space, 0, step->bytes);
    if (step->bytes > 0) continue;
    ASSERT_TRUE(wait_for((*stream)->descriptor(), events, soon()).value());
  }
  EXPECT_TRUE(got == sent);
  EXPECT_EQ(read_to_end(**stream), "");
  EXPECT_EQ((*stream)->exit_code().value(), 0);
}

TEST_F(PodStreamTest, ALostConnectionIsNotAnEndOfTheCommand) {
  script({accept("v5.channel.k8s.io", [](WebSocket& socket) { say(socket, 1, "half"); })});
  auto stream = exec();
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(read_to_end(**stream), "half");
  const auto code = (*stream)->exit_code();
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(code.error().message, HasSubstr("may still run"));
}

TEST_F(PodStreamTest, ACommandThatCannotRunIsAnError) {
  script({accept("v5.channel.k8s.io", [](WebSocket& socket) {
    say(socket, 3,
        R"({"kind": "Status", "status": "Failure", "reason": "InternalError", "code": 500,
            "message": "no such file"})");
  })});
  auto stream = exec();
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(read_to_end(**stream), "");
  const auto code = (*stream)->exit_code();
  ASSERT_FALSE(code);
  EXPECT_THAT(code.error().message, HasSubstr("no such file"));
}

TEST_F(PodStreamTest, ARefusedHandshakeSaysWhy) {
  script({refusal(404, "NotFound", "pods pod-1 not found"),
          refusal(403, "Forbidden", "may not create pods/exec"), refusal(401, "Unauthorized"),
          refusal(429, "TooManyRequests"), accept("v9.channel.k8s.io", [](WebSocket&) {})});
  EXPECT_EQ(exec().error().code, ErrorCode::NotFound);
  EXPECT_THAT(exec().error().message, HasSubstr("may not create pods/exec"));
  const auto wrong = exec();  // after a renewed token and a pause
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::Corrupt);
  EXPECT_EQ(seen().at(4).authorization, "Bearer token-2");
  EXPECT_EQ(pauses_.size(), 1U);
}

TEST_F(PodStreamTest, ForwardsAPort) {
  script({accept("v4.channel.k8s.io", [](WebSocket& socket) {
    say(socket, 0, std::string_view("\x90", 1));  // 8080, in two parts
    say(socket, 0,
        std::string_view("\x1f"
                         "early",
                         6));
    say(socket, 1, std::string_view("\x90\x1f", 2));
    EXPECT_EQ(read_input(socket), "request<closed>");
  })});
  auto stream = open_port(api_, {"agents", "pod-1"}, 8080, soon());
  ASSERT_TRUE(stream) << stream.error().message;
  std::string space(100, '\0');
  EXPECT_EQ((*stream)->read(space.data(), space.size(), soon()).value(), 5U);
  EXPECT_EQ(space.substr(0, 5), "early");
  ASSERT_TRUE((*stream)->write("request", soon()));
  (*stream)->end_writing();
  EXPECT_EQ(read_to_end(**stream), "");
  EXPECT_EQ(lines().at(0),
            "GET /prefix/api/v1/namespaces/agents/pods/pod-1/portforward?ports=8080");
}

TEST_F(PodStreamTest, RefusesWhatTheProtocolForbids) {
  script({accept("v5.channel.k8s.io",
                 [](WebSocket& socket) { (void)socket.send(WebSocket::Kind::Binary, ""); }),
          accept("v4.channel.k8s.io", [](WebSocket& socket) { say(socket, 9, "x"); })});
  EXPECT_THAT(read_to_end(**exec()), HasSubstr("no channel"));
  auto port = open_port(api_, {"agents", "pod-1"}, 1, soon());
  ASSERT_TRUE(port);
  EXPECT_THAT(read_to_end(**port), HasSubstr("unknown channel"));
}

}  // namespace
}  // namespace nutshell::kubernetes
