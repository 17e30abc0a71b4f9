// A relay whose init and whose world are the test's own.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/socket.h"
#include "egress/relay.h"
#include "wire/frame.h"
#include "wire/network_schema.h"

namespace nutshell::egress {

using namespace std::chrono_literals;

inline Deadline soon() {
  return Deadline::in(10s);
}

// A TCP server on loopback, at a port of its own.
class LoopbackServer {
 public:
  LoopbackServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_.get(), 128);
    socklen_t size = sizeof address;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] UniqueFd accept() const {
    EXPECT_TRUE(wait_for(listener_.get(), POLLIN, soon()).value_or(false)) << "nobody connects";
    return UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  [[nodiscard]] bool is_left_alone() const {
    return !wait_for(listener_.get(), POLLIN, Deadline::in(0ms)).value_or(true);
  }

 private:
  UniqueFd listener_;
  std::uint16_t port_ = 0;
};

inline UniqueFd connect_to_loopback(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return socket;
}

// Reads until `count` bytes are there, or the end.
inline std::string read_bytes(int socket, std::size_t count) {
  std::string bytes;
  while (bytes.size() < count && wait_for(socket, POLLIN, soon()).value_or(false)) {
    std::string part(count - bytes.size(), '\0');
    const ssize_t got = ::recv(socket, part.data(), part.size(), 0);
    if (got <= 0) break;
    bytes += part.substr(0, static_cast<std::size_t>(got));
  }
  return bytes;
}

// Every address of the world is a port of loopback.
class FakeWorld : public Outside {
 public:
  struct Plan {
    std::map<std::string, std::vector<std::string>> names;
    std::map<std::uint16_t, std::uint16_t> ports;  // of loopback, in place of a server's
    std::atomic<int> look_ups{0};
  };
  explicit FakeWorld(Plan& plan) : plan_(plan) {}

  void resolve(const std::string& name, wire::RecordType type, TakeAddresses take) override {
    ++plan_.look_ups;
    Addresses answer;
    const auto found = plan_.names.find(name);
    if (found == plan_.names.end()) {
      answer.resolution = wire::Resolution::NoSuchName;
      return take(answer);
    }
    answer.resolution = wire::Resolution::Found;
    answer.time_to_live = 60s;
    for (const std::string& text : found->second) {
      const auto address = Address::parse(text);
      if (address->is_four() == (type == wire::RecordType::Address4))
        answer.addresses.push_back(*address);
    }
    take(answer);
  }
  Connecting connect(const Address& /*address*/, std::uint16_t port,
                     const std::string& /*name*/) override {
    const auto found = plan_.ports.find(port);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(found == plan_.ports.end() ? port : found->second);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
        errno != EINPROGRESS) {
      return {{}, errno};
    }
    return {std::move(socket), 0};
  }

 private:
  Plan& plan_;
};

// Speaks for init.
class FakeInit {
 public:
  explicit FakeInit(UniqueFd stream) : stream_(std::move(stream)) {
    wire::append_frame(out_, 0, wire::Hello{});
  }
  template <typename Message>
  void send(Message message) {
    wire::append_frame(out_, 1, std::move(message));
    EXPECT_TRUE(write_all(stream_.get(), std::exchange(out_, {})));
  }
  // With one end of the door.
  void send_with(wire::EgressOpened message, int descriptor) {
    wire::append_frame(out_, 1, message);
    EXPECT_TRUE(send_packet(stream_.get(), std::exchange(out_, {}), {descriptor}));
  }
  // The next message, which is of this type.
  template <typename Message>
  Message receive() {
    for (;;) {
      const auto frame = reader_.next();
      if (!frame) {
        ADD_FAILURE() << frame.error().message;
        return {};
      }
      if (*frame && (*frame)->type == wire::MessageType::Hello) continue;
      if (*frame) {
        EXPECT_EQ((*frame)->type, Message::kType);
        auto message = wire::decode<Message>((*frame)->payload);
        return message ? *message : Message();
      }
      if (!wait_for(stream_.get(), POLLIN, soon()).value_or(false)) {
        ADD_FAILURE() << "the relay sends nothing";
        return {};
      }
      const auto [space, size] = reader_.space();
      const ssize_t count = ::recv(stream_.get(), space, size, 0);
      if (count <= 0) {
        ADD_FAILURE() << "the relay has closed the stream";
        return {};
      }
      reader_.filled(static_cast<std::size_t>(count));
    }
  }
  void close() { stream_.reset(); }

 private:
  UniqueFd stream_;
  std::string out_;
  wire::FrameReader reader_{wire::kMostReplyPayload};
};

class RunningRelay {
 public:
  explicit RunningRelay(const NetworkPolicy& policy) : RunningRelay(policy, make_pair()) {}
  RunningRelay(const RunningRelay&) = delete;
  RunningRelay& operator=(const RunningRelay&) = delete;
  ~RunningRelay() {
    relay->stop();
    if (thread_.joinable()) thread_.join();
  }
  // Waits until the relay has ended by itself.
  Result<> ended() {
    thread_.join();
    return std::move(result_);
  }
  // Looks a name up, as a command would before it connects.
  wire::Resolved look_up(const std::string& name) {
    init.send(wire::Resolve{7, name, wire::RecordType::Address4});
    return init.receive<wire::Resolved>();
  }
  wire::FlowOpened open(std::uint32_t flow, const std::string& address, std::uint16_t port) {
    const auto parsed = Address::parse(address);
    init.send(wire::OpenFlow{flow, std::string(parsed->bytes()), {}, port});
    return init.receive<wire::FlowOpened>();
  }

  FakeWorld::Plan plan;
  FakeInit init;
  std::unique_ptr<Relay> relay;

 private:
  using Pair = std::pair<UniqueFd, UniqueFd>;
  static Pair make_pair() {
    auto pair = make_socket_pair(SocketKind::Stream);
    EXPECT_TRUE(pair);
    return std::move(*pair);
  }
  RunningRelay(const NetworkPolicy& policy, Pair pair) : init(std::move(pair.first)) {
    auto made =
        Relay::create(InitStream(std::move(pair.second), InitStream::Descriptors::Pass), policy,
                      {"A=1"}, [this](EventLoop&) {
                        return Result<std::unique_ptr<Outside>>(std::make_unique<FakeWorld>(plan));
                      });
    if (!made) {
      ADD_FAILURE() << made.error().message;
      return;
    }
    relay = std::move(*made);
    thread_ = std::thread([this] { result_ = relay->run(); });
    init.receive<wire::UseNetwork>();
    const auto begin = init.receive<wire::Egress>();
    EXPECT_EQ(begin.environment, std::vector<std::string>{"A=1"});
    EXPECT_EQ(begin.takes_descriptors, 1);
  }

  Result<> result_;
  std::thread thread_;
};

}  // namespace nutshell::egress
