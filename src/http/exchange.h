// One request and its answer, as a handler sees them. Used by one thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "http/message.h"
#include "http/remote.h"
#include "http/shares.h"
#include "http/transport.h"
#include "http/websocket.h"

namespace nutshell::http {

class BodyWait;
class Connection;

class Exchange {
 public:
  struct Terms {
    std::chrono::milliseconds stall_time;
    bool may_keep_alive = true;
    const std::atomic<bool>* is_stopping = nullptr;
    BodyWait* body_wait = nullptr;
    Shares* bodies = nullptr;  // counts the bytes of bodies that are read whole
  };
  Exchange(Connection& connection, const Terms& terms);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() = default;

  [[nodiscard]] const std::string& method() const;
  [[nodiscard]] const Target& target() const;
  [[nodiscard]] const Headers& headers() const;
  [[nodiscard]] const Remote& remote() const;
  [[nodiscard]] std::optional<std::uint64_t> content_length() const;

  // Reads the whole body; TooLarge if it is longer, Unavailable if the bodies of all requests use
  // all memory for them.
  Result<std::string> read_body(std::size_t limit);
  // Reads the body and keeps none of it; TooLarge if it is longer.
  Result<> discard_body(std::size_t limit);
  // Reads the next piece; empty at the end.
  Result<std::string> read_body_part(std::size_t most);

  // A handler answers once: by respond(), begin_stream() or an upgrade.
  Result<> respond(int status, const Headers& headers, std::string_view body);

  // An answer that comes in pieces; each is sent at once. Unavailable: the client is gone.
  Result<> begin_stream(int status, const Headers& headers);
  Result<> write(std::string_view piece);
  Result<> finish();

  // Whether the client has hung up. Over TCP a client that only ended its sending looks the same.
  [[nodiscard]] bool client_is_gone();
  // Becomes readable when the client hangs up; valid as long as this object. -1 if there is none.
  int hang_up_descriptor();

  // Answers 101 and returns the bare socket. Unsupported inside TLS.
  Result<UniqueFd> upgrade_raw(std::string_view protocol);
  // Answers 101 and carries bytes between the client and the stream until both have ended.
  struct RelayTarget {
    int stream = -1;
    Headers headers = {};  // of the 101
    RelayFilter* filter = nullptr;
  };
  Result<> upgrade_and_relay(std::string_view protocol, const RelayTarget& target);
  Result<WebSocket> upgrade_websocket(std::size_t most_message_bytes,
                                      std::string_view subprotocol = {});

  [[nodiscard]] bool is_answered() const { return state_ != State::Open; }
  [[nodiscard]] bool is_streaming() const { return state_ == State::Streaming; }
  [[nodiscard]] bool keeps_alive() const { return keeps_alive_; }
  [[nodiscard]] int status() const { return status_; }  // 0 until one was sent
  [[nodiscard]] bool server_is_stopping() const;

 private:
  enum class State { Open, Streaming, Done, Taken };
  Result<std::string> head_of(int status, const Headers& headers);
  Result<> send(std::string_view bytes);
  Result<> send_continue();
  Result<> switch_protocols(std::string_view protocol, const Headers& more);

  Connection& connection_;
  Terms terms_;
  Shares::Share body_share_;
  State state_ = State::Open;
  bool keeps_alive_ = false;
  bool is_chunked_ = true;
  bool has_continued_ = false;
  bool may_keep_alive_ = true;
  std::uint64_t body_bytes_ = 0;
  Clock::duration body_wait_{0};
  int status_ = 0;
};

}  // namespace nutshell::http
