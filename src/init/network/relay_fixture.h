// A relay for tests: the host's end of an Egress conversation, which opens no real connections. It
// answers what it is told to, and sends back what it receives.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor_message.h"
#include "base/file.h"
#include "base/guarded.h"
#include "base/socket.h"
#include "base/unique_fd.h"
#include "wire/frame.h"
#include "wire/network_schema.h"

namespace nutshell::init {

class FakeRelay {
 public:
  enum class Descriptors { Taken, Refused };
  struct Behaviour {
    Descriptors descriptors = Descriptors::Refused;
    std::vector<std::string> environment;
    // Called in the relay's thread; by default every connection opens.
    std::function<wire::FlowOpened(const wire::OpenFlow&)> decide = [](const auto& open) {
      return wire::FlowOpened{open.flow, 0, {}, 0};
    };
    std::function<wire::Resolved(const wire::Resolve&)> resolve = [](const auto& question) {
      return wire::Resolved{question.query, wire::Resolution::NoSuchName, 0, {}, {}};
    };
    // Returns what the server sends for these bytes.
    std::function<std::string(const std::string&)> serve = [](const auto& bytes) { return bytes; };
  };

  FakeRelay(UniqueFd stream, Behaviour behaviour)
      : stream_(std::move(stream)), behaviour_(std::move(behaviour)) {
    send_frame(0, wire::Hello{});
    const bool takes = behaviour_.descriptors == Descriptors::Taken;
    send_frame(1, wire::Egress{behaviour_.environment, static_cast<std::uint8_t>(takes ? 1 : 0)});
    thread_ = std::thread([this] { work(); });
  }
  FakeRelay(FakeRelay&&) = delete;
  FakeRelay& operator=(FakeRelay&&) = delete;
  ~FakeRelay() {
    is_stopping_ = true;
    thread_.join();
  }

  // Connections that were asked for so far, as "10.0.0.1:80" in hexadecimal: "0a000001:80".
  std::vector<std::string> asked() {
    return asked_.with([](const auto& list) { return list; });
  }
  std::vector<std::string> resolved() {
    return resolved_.with([](const auto& list) { return list; });
  }
  std::vector<std::string> resets() {
    return resets_.with([](const auto& list) { return list; });
  }
  [[nodiscard]] bool is_open() const { return is_open_; }
  [[nodiscard]] int handed_over() const { return handed_over_; }
  [[nodiscard]] bool has_ended() const { return has_ended_; }

 private:
  struct Socket {
    std::uint32_t flow = 0;
    UniqueFd socket;
  };

  struct Flow {
    std::string answers;  // not sent yet
    std::uint64_t received = 0;
    std::uint64_t sent = 0;
    std::uint64_t consumed = 0;
    bool has_ended = false;
  };

  template <typename Message>
  void send_frame(std::uint32_t conversation, Message message) {
    std::string bytes;
    wire::append_frame(bytes, conversation, std::move(message));
    (void)write_all(stream_.get(), bytes);  // init may be gone
  }

  void work() {
    while (!is_stopping_) {
      std::vector<pollfd> waits = {{stream_.get(), POLLIN, 0}, {door_.get(), POLLIN, 0}};
      for (const Socket& socket : sockets_)
        waits.push_back({socket.socket.get(), POLLIN, 0});
      ::poll(waits.data(), waits.size(), 20);
      if (waits[0].revents != 0 && !receive()) break;
      for (std::size_t i = 2; i < waits.size(); ++i) {
        if (waits[i].revents != 0) serve_socket(sockets_[i - 2]);
      }
      std::erase_if(sockets_, [](const Socket& socket) { return !socket.socket; });
      if (door_ && waits[1].revents != 0) take_from_door();
    }
    has_ended_ = true;
  }

  bool receive() {
    const auto [space, size] = reader_.space();
    const ssize_t count = receive_with_descriptor(stream_.get(), {space, size}, 0, door_);
    if (count <= 0) return false;
    reader_.filled(static_cast<std::size_t>(count));
    for (;;) {
      const auto frame = reader_.next();
      if (!frame) return false;
      if (!*frame) return true;
      if ((*frame)->conversation == 1) handle(**frame);
    }
  }

  void handle(const wire::Frame& frame) {
    using enum wire::MessageType;
    switch (frame.type) {
      case EgressOpened:
        if (wire::decode<wire::EgressOpened>(frame.payload)->has_door != 0 && door_)
          send_frame(1, wire::DoorTaken{});
        is_open_ = true;
        return;
      case Resolve: {
        const auto resolve = *wire::decode<wire::Resolve>(frame.payload);
        resolved_.with([&](auto& list) { list.push_back(resolve.name); });
        return send_frame(1, behaviour_.resolve(resolve));
      }
      case OpenFlow: {
        const auto open = *wire::decode<wire::OpenFlow>(frame.payload);
        const std::string host = open.name.empty() ? hex(open.address) : open.name;
        asked_.with([&](auto& list) { list.push_back(host + ":" + std::to_string(open.port)); });
        return send_frame(1, behaviour_.decide(open));
      }
      case FlowData:
        return serve_flow(*wire::decode<wire::FlowData>(frame.payload));
      case FlowConsumed: {
        const auto consumed = *wire::decode<wire::FlowConsumed>(frame.payload);
        flows_[consumed.flow].consumed = consumed.offset;
        return send_answers(consumed.flow);
      }
      case FlowEnd: {
        const auto end = *wire::decode<wire::FlowEnd>(frame.payload);
        flows_[end.flow].has_ended = true;
        return send_answers(end.flow);
      }
      case FlowReset: {
        const auto reset = *wire::decode<wire::FlowReset>(frame.payload);
        resets_.with([&](auto& list) { list.push_back(reset.reason); });
        return;
      }
      default:
        return;
    }
  }

  void serve_flow(const wire::FlowData& data) {
    Flow& flow = flows_[data.flow];
    flow.received += data.bytes.size();
    flow.answers += behaviour_.serve(data.bytes);
    send_answers(data.flow);
  }

  // As far as the window allows. What waits for the window keeps the command from sending more.
  void send_answers(std::uint32_t number) {
    Flow& flow = flows_[number];
    while (!flow.answers.empty()) {
      const std::uint64_t room = wire::kFlowWindow - (flow.sent - flow.consumed);
      const std::string part =
          flow.answers.substr(0, std::min<std::uint64_t>(room, wire::kMostData));
      if (part.empty()) return;
      flow.answers.erase(0, part.size());
      flow.sent += part.size();
      send_frame(1, wire::FlowData{number, part});
    }
    send_frame(1, wire::FlowConsumed{number, flow.received});
    if (std::exchange(flow.has_ended, false)) send_frame(1, wire::FlowEnd{number});
  }

  void take_from_door() {
    auto packet = receive_packet(door_.get(), Deadline::in(std::chrono::seconds(1)));
    if (!packet || packet->descriptors.size() != 1 || packet->bytes.size() != 4) {
      door_.reset();
      return;
    }
    Socket taken;
    std::memcpy(&taken.flow, packet->bytes.data(), sizeof taken.flow);
    taken.socket = std::move(packet->descriptors.front());
    (void)::fcntl(taken.socket.get(), F_SETFL, 0);  // this relay waits
    ++handed_over_;
    sockets_.push_back(std::move(taken));
  }

  void serve_socket(Socket& socket) {
    std::array<char, 65536> space{};
    const ssize_t count = ::recv(socket.socket.get(), space.data(), space.size(), MSG_DONTWAIT);
    if (count > 0) {
      const std::string answer =
          behaviour_.serve(std::string(space.data(), static_cast<std::size_t>(count)));
      (void)write_all(socket.socket.get(), answer);
      return;
    }
    send_frame(1, wire::FlowEnd{socket.flow});
    socket.socket.reset();
  }

  static std::string hex(const std::string& bytes) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
      text += kDigits[static_cast<unsigned char>(byte) >> 4U];
      text += kDigits[static_cast<unsigned char>(byte) & 15U];
    }
    return text;
  }

  UniqueFd stream_;
  Behaviour behaviour_;
  wire::FrameReader reader_{wire::kMostReplyPayload};
  UniqueFd door_;
  std::vector<Socket> sockets_;
  std::map<std::uint32_t, Flow> flows_;
  Guarded<std::vector<std::string>> asked_;
  Guarded<std::vector<std::string>> resolved_;
  Guarded<std::vector<std::string>> resets_;
  std::atomic<bool> is_open_ = false;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> has_ended_ = false;
  std::atomic<int> handed_over_ = 0;
  std::thread thread_;
};

}  // namespace nutshell::init
