// A sandbox's connection through the gate to servers of the test's own on loopback.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/guarded.h"
#include "base/socket.h"
#include "egress/inspect/inspect.h"
#include "http/client.h"
#include "http/server.h"

namespace nutshell::egress {

// Reads until the other side ends, or `until` was read, or nothing comes for a while.
inline std::string read_text(int socket, const std::string& until = {},
                             std::chrono::milliseconds patience = std::chrono::seconds(5)) {
  std::string all;
  for (;;) {
    const std::size_t recent = std::max(all.size(), 4096 + until.size()) - 4096 - until.size();
    if (!until.empty() && all.find(until, recent) != std::string::npos) return all;
    const auto ready = wait_for(socket, POLLIN, Deadline::in(patience));
    if (!ready || !*ready) return all + "<silence>";
    std::array<char, 4096> space{};
    const ssize_t count = ::recv(socket, space.data(), space.size(), 0);
    if (count <= 0) return all;
    all.append(space.data(), static_cast<std::size_t>(count));
  }
}

inline void send_text(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

// Gives each connection to `serve`, in one thread.
class RawServer {
 public:
  explicit RawServer(std::function<void(UniqueFd)> serve) {
    auto listener = http::listen_on_tcp("127.0.0.1", 0);
    EXPECT_TRUE(listener);
    listener_ = std::move(*listener);
    port_ = *http::port_of(listener_.get());
    thread_ = std::thread([this, serve = std::move(serve)] {
      for (;;) {
        UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!socket) return;
        serve(std::move(socket));
      }
    });
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  ~RawServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// Connects each name to a port of this machine, and refuses the paths it is told to.
class TestGuard : public FlowGuard {
 public:
  Result<UniqueFd> connect(const std::string& host, std::uint16_t /*port*/) override {
    ++connections;
    const auto found = places.find(host);
    if (found == places.end()) {
      return failure(ErrorCode::PermissionDenied, host + " is not allowed; allowed are: a.test");
    }
    return http::dial_tcp("127.0.0.1", found->second)(Deadline::in(std::chrono::seconds(5)));
  }
  std::optional<std::string> refusal(const HttpRequestHead& head) override {
    asked.push_back(head.method + " " + head.scheme + "://" + head.host + head.path);
    if (head.path.rfind(refused_path, 0) == 0) return asked.back() + " is not allowed";
    return std::nullopt;
  }
  Result<> carry(std::size_t bytes) override {
    carried += bytes;
    if (carried > most_bytes) return failure(ErrorCode::ResourceExhausted, "no bytes are left");
    return {};
  }
  void refused(const HttpRequestHead& /*head*/, const std::string& why) override {
    refusals.push_back(why);
  }
  void noted(const HttpRequestHead& /*head*/, const std::string& what) override {
    notes.push_back(what);
  }

  std::map<std::string, std::uint16_t> places;
  std::string refused_path = "/refused";
  std::size_t most_bytes = SIZE_MAX;
  std::size_t carried = 0;
  int connections = 0;
  std::vector<std::string> asked;
  std::vector<std::string> refusals;
  std::vector<std::string> notes;
};

class GateTest : public testing::Test {
 protected:
  using Serve = std::function<void(UniqueFd)>;

  // Serves "http://a.test" by `serve` until the sandbox hangs up.
  void start_server(Serve serve) {
    server_ = std::make_unique<RawServer>(std::move(serve));
    guard_.places["a.test"] = server_->port();
  }

  // Answers every request with the bytes that it was, as the body.
  void start_mirror() {
    start_server([](UniqueFd socket) {
      for (;;) {
        const std::string request = read_text(socket.get(), "\r\n\r\n");
        if (request.find("\r\n\r\n") == std::string::npos) return;
        send_text(socket.get(), "HTTP/1.1 200 Fine\r\nContent-Length: " +
                                    std::to_string(request.size()) + "\r\n\r\n" + request);
      }
    });
  }

  // Runs the gate's side of a connection; returns the sandbox's end.
  int connect_through(Serve gate) {
    auto pair = make_socket_pair(SocketKind::Stream);
    EXPECT_TRUE(pair);
    gate_ = std::thread([gate = std::move(gate), socket = std::move(pair->first)]() mutable {
      gate(std::move(socket));
    });
    sandbox_ = std::move(pair->second);
    return sandbox_.get();
  }

  int connect_sandbox(const std::string& host = "a.test", std::uint16_t port = 80) {
    return connect_through([this, host, port](UniqueFd socket) {
      serve_http(std::move(socket), host, port, guard_, settings_);
    });
  }

  // The answer to these bytes on a connection of their own, after which the sandbox hangs up.
  std::string answer_to(std::string_view bytes) {
    const int socket = connect_sandbox();
    send_text(socket, bytes);
    ::shutdown(socket, SHUT_WR);
    std::string answer = read_text(socket);
    end_sandbox();
    return answer;
  }

  void end_sandbox() {
    sandbox_.reset();
    if (gate_.joinable()) gate_.join();
  }

  ~GateTest() override { end_sandbox(); }

  TestGuard guard_;
  InspectSettings settings_;
  std::unique_ptr<RawServer> server_;
  UniqueFd sandbox_;
  std::thread gate_;
};

}  // namespace nutshell::egress
