// WebSocket (RFC 6455) over a transport whose handshake is done. All frames are hostile: lengths,
// masks, order and text are checked, and a message is bounded. Not thread-safe.
//
// Boost.Beast's stream (1.74 and 1.81, tried) cannot take its place: it closes itself when the
// layer below reports would_block inside a frame's header, and its next read fails with
// operation_aborted. A blocking layer waits inside a frame that a client never ends, and with it
// the loop that keeps the deadline of an exec. Its asynchronous form works, but costs each terminal
// an io_context (three descriptors) and writes whose buffers must outlive their deadline.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "http/transport.h"

namespace nutshell::http {

// The value of Sec-WebSocket-Accept for this Sec-WebSocket-Key.
std::string websocket_accept_of(std::string_view key);
std::string new_websocket_key();

class WebSocket {
 public:
  enum class Role { Server, Client };
  enum class Kind { Text, Binary };
  enum class Event { Message, Nothing, Closed };
  struct Received {
    Event event = Event::Nothing;
    Kind kind = Kind::Binary;
    std::string bytes;
  };
  struct Options {
    Role role = Role::Server;
    std::size_t most_message_bytes = 1U << 20U;
    Clock::duration write_stall = std::chrono::seconds(30);
  };

  // `early` are bytes that were read behind the handshake.
  WebSocket(std::unique_ptr<Transport> transport, std::string early, Options options)
      : transport_(std::move(transport)), input_(std::move(early)), options_(options) {}

  // Never waits. Poll the descriptor only after this returned Nothing: bytes may be buffered.
  Result<Received> take_next();
  // Waits until the deadline, and then returns Nothing.
  Result<Received> next(const Deadline& deadline);

  Result<> send(Kind kind, std::string_view bytes);
  // Sends without waiting. False: part of the frame is kept, and flush() sends it.
  Result<bool> try_send(Kind kind, std::string_view bytes);
  // Sends what try_send() kept, without waiting; true if nothing is left.
  Result<bool> flush();
  // Sends a close frame; later calls do nothing.
  void close(int code, std::string_view reason);

  [[nodiscard]] int descriptor() const { return transport_->descriptor(); }

 private:
  struct Frame;
  Result<bool> take_frame(Frame& frame);
  Result<> take_data(Frame& frame, Received& received);
  Result<> take_control(Frame& frame, Received& received);
  Result<bool> read_more();
  void add_frame(unsigned opcode, std::string_view bytes);
  Result<> send_frame(unsigned opcode, std::string_view bytes);
  Failure breach(int code, std::string_view why);

  std::unique_ptr<Transport> transport_;
  std::string input_;
  Options options_;
  std::string unsent_;   // frames that wait to be sent
  std::string message_;  // payload of the frames so far
  Kind message_kind_ = Kind::Binary;
  bool is_in_message_ = false;
  bool is_closed_ = false;     // the other side sent a close frame, or is gone
  bool has_said_end_ = false;  // we sent a close frame
};

}  // namespace nutshell::http
