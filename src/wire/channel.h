// The host's end of the stream to an init: sends and receives frames. All that comes in is hostile.
// Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/frame.h"

namespace nutshell::wire {

class Channel {
 public:
  // The greeting leaves with the first message: no round trip is spent on it.
  explicit Channel(UniqueFd stream);

  [[nodiscard]] int descriptor() const { return stream_.get(); }
  // From now on every call that sends or receives fails.
  void close() { stream_.reset(); }
  [[nodiscard]] bool is_open() const { return stream_.is_open(); }
  [[nodiscard]] std::uint32_t new_conversation() { return ++last_conversation_; }

  template <typename Message>
  void queue(std::uint32_t conversation, Message message) {
    append_frame(outgoing_, conversation, std::move(message));
  }
  // Between conversations init sends nothing: if something can be read then, the connection has
  // ended, or init breaks the protocol.
  [[nodiscard]] bool is_quiet() const;
  [[nodiscard]] std::size_t queued() const { return outgoing_.size(); }
  [[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }

  // Sends what the socket takes now.
  Result<> send_some();
  Result<> send_all(const Deadline& deadline);

  // Returns a frame that has already arrived; nullopt if none is complete.
  Result<std::optional<Frame>> next_frame();
  // Reads what is there now, without waiting. Returns false if the other side has closed.
  Result<bool> receive_some();
  // Sends everything, then waits for one frame. After the deadline it returns what had arrived by
  // then, and nothing that arrives later.
  Result<Frame> receive(const Deadline& deadline);

 private:
  Result<bool> has_bytes_by(const Deadline& deadline);

  UniqueFd stream_;
  FrameReader reader_{kMostReplyPayload};
  std::string outgoing_;
  std::uint64_t sent_bytes_ = 0;
  // Bytes that lay in the socket when a deadline had passed; nullopt until one has.
  std::optional<std::size_t> arrived_in_time_;
  bool has_greeting_ = false;
  std::uint32_t last_conversation_ = 0;
};

}  // namespace nutshell::wire
