// One output stream of an exec: reads the command's pipe, keeps what the host has not consumed
// yet as frames ready to be sent. While the window is full it stops reading, so the command waits;
// a stream that may drop output does that too while a host listens, and drops its oldest bytes
// else.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "wire/frame.h"

namespace nutshell::init {

class OutputStream {
 public:
  enum class WhenFull : std::uint8_t { Waits, DropsOldest };
  // How much is kept of a stream that drops its oldest bytes while no host listens.
  static constexpr std::uint64_t kMostUnread = 4ULL << 20U;

  OutputStream(wire::Stream stream, UniqueFd pipe, std::uint32_t window,
               WhenFull when_full = WhenFull::Waits);

  // The descriptor to poll; -1 while the window is full or nothing more can come.
  [[nodiscard]] int descriptor() const;

  // Reads what is there now, at most up to the window. `allowance` is what the exec may still
  // write in all; bytes beyond it are counted and dropped.
  void read_available(std::uint64_t& allowance);

  // After the command has ended, its background processes may still hold the pipe: their output is
  // read and thrown away, so that they neither block nor die of SIGPIPE.
  void discard_from_now() { is_discarding_ = true; }
  // Called when the command has ended: the bytes in the pipe now are the last of its output.
  void note_end();
  [[nodiscard]] bool has_read_to_end() const { return !pipe_ || written_ >= end_; }
  void close() { pipe_.reset(); }

  // Says whether a host reads this stream now. A stream begins without a listener.
  void set_listener(bool is_there) { has_listener_ = is_there; }
  void consume(std::uint64_t offset);
  // Starts sending anew at `offset` on another connection, unless that was already forgotten.
  // A stream that may drop its oldest bytes goes on with the first one that is still there.
  [[nodiscard]] bool can_rewind(std::uint64_t offset) const {
    return (offset >= consumed_ || when_full_ == WhenFull::DropsOldest) && offset <= kept_;
  }
  void rewind(std::uint64_t offset);

  [[nodiscard]] bool has_unsent() const { return next_ < blocks_.size(); }
  std::string_view unsent_frame(std::uint32_t conversation);
  void mark_sent() { ++next_; }

  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] std::uint64_t kept() const { return kept_; }
  [[nodiscard]] bool is_open() const { return pipe_.is_open(); }

 private:
  struct Block {
    std::uint64_t offset = 0;  // of its first byte in the stream
    std::string frame;         // header and payload
  };
  [[nodiscard]] bool drops_oldest() const {
    return when_full_ == WhenFull::DropsOldest && !has_listener_;
  }
  [[nodiscard]] std::size_t room() const;
  void keep(const char* data, std::size_t size);
  void drop_oldest();
  void grow_pipe();

  wire::Stream stream_;
  UniqueFd pipe_;
  std::uint32_t window_;
  WhenFull when_full_;
  bool has_listener_ = false;
  std::deque<Block> blocks_;
  std::size_t next_ = 0;  // first block that was not sent
  std::uint64_t consumed_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t end_ = 0;
  bool is_discarding_ = false;
  bool has_large_pipe_ = false;
};

}  // namespace nutshell::init
