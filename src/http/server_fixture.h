// A server on a Unix socket of the test's own, and raw bytes to it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "base/socket.h"
#include "http/client.h"
#include "http/server.h"

namespace nutshell::http {

// Answers "METHOD PATH BODY", so that a test sees what the server understood.
inline void echo(Exchange& exchange) {
  const auto body = exchange.read_body(1U << 20U);
  if (!body) {
    const bool is_long = body.error().code == ErrorCode::TooLarge;
    (void)exchange.respond(is_long ? 413 : 400, {}, body.error().message);
    return;
  }
  (void)exchange.respond(200, {}, exchange.method() + " " + exchange.target().path + " " + *body);
}

class ServerTest : public testing::Test {
 protected:
  void start(Server::Handler handler, const ServerLimits& limits = {}) {
    auto listener = listen_on_unix(path_);
    ASSERT_TRUE(listener) << listener.error().message;
    std::vector<Endpoint> endpoints;
    endpoints.push_back({std::move(*listener)});
    auto server = Server::start(std::move(endpoints), std::move(handler), limits);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }

  [[nodiscard]] UniqueFd connect() const {
    auto socket = connect_to(path_, SocketKind::Stream);
    EXPECT_TRUE(socket) << socket.error().message;
    return socket ? std::move(*socket) : UniqueFd();
  }

  // All that comes until the server hangs up or says nothing for a while.
  static std::string read_to_end(int socket, std::chrono::milliseconds patience) {
    std::string all;
    const Deadline deadline = Deadline::in(patience);
    for (;;) {
      const auto ready = wait_for(socket, POLLIN, deadline);
      if (!ready || !*ready) return all + "<silence>";
      std::array<char, 4096> space{};
      const ssize_t count = ::recv(socket, space.data(), space.size(), 0);
      if (count <= 0) return all;
      all.append(space.data(), static_cast<std::size_t>(count));
    }
  }

  // The answer to raw bytes on a connection of their own.
  std::string answer_to(std::string_view bytes,
                        std::chrono::milliseconds patience = std::chrono::milliseconds(400)) const {
    const UniqueFd socket = connect();
    (void)::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return read_to_end(socket.get(), patience);
  }

  [[nodiscard]] Client client() const { return Client({.dial = dial_unix(path_)}); }

  void expect_alive() const {
    auto answer = client().send({.target = "/alive"}, Deadline::in(std::chrono::seconds(5)));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "GET /alive ");
  }

  ScratchDirectory scratch_;
  std::filesystem::path path_ = scratch_ / "socket";
  std::unique_ptr<Server> server_;
};

}  // namespace nutshell::http
