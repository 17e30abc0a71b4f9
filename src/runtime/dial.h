// Connects to servers inside a sandbox, over streams to its init. What init sends is hostile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "runtime/runtime.h"

namespace nutshell {

// A connection to a server on the loopback interface of a sandbox. Used by one thread.
class InsideConnection {
 public:
  // Takes the stream once it is free for other conversations.
  using Keep = std::function<void(wire::InitClient)>;
  // Unavailable if no server listens on the port.
  static Result<InsideConnection> open(wire::InitClient client, std::uint16_t port,
                                       const Keep& keep);
  // The same for a sandbox, over an idle stream if there is one.
  static Result<InsideConnection> dial(Runtime& runtime, const std::string& id, std::uint16_t port);

  struct Carried {
    std::uint64_t sent = 0;      // bytes to the server
    std::uint64_t received = 0;  // bytes from it
    bool is_broken = false;      // one side broke the connection, or it was stopped
  };
  // Carries bytes between the server and `socket` until both have ended or one side breaks the
  // connection. Breaks it when `stop` becomes readable; -1: never. To be called once.
  Result<Carried> carry(UniqueFd socket, int stop);

 private:
  InsideConnection(wire::InitClient client, std::uint32_t conversation, Keep keep)
      : client_(std::move(client)), conversation_(conversation), keep_(std::move(keep)) {}

  wire::InitClient client_;
  std::uint32_t conversation_;
  Keep keep_;
};

// A connection to a server inside as a plain socket, whose bytes a thread carries.
class InsideSocket {
 public:
  // The connection breaks when `stop`, which outlives this object, becomes readable; -1: never.
  static Result<std::unique_ptr<InsideSocket>> open(InsideConnection connection, int stop);
  InsideSocket(const InsideSocket&) = delete;
  InsideSocket& operator=(const InsideSocket&) = delete;
  // Waits for the thread: the socket that was taken has to be closed before.
  ~InsideSocket() = default;

  // To be called once.
  UniqueFd take() { return std::move(socket_); }

 private:
  InsideSocket() = default;

  std::jthread carrier_;  // ends once the socket is closed, which is destroyed before it
  UniqueFd socket_;
};

}  // namespace nutshell
