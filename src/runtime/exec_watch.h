// Follows an exec for a while: receives its output until it ends or the deadline passes. The exec
// may go on afterwards.
#pragma once

#include <optional>
#include <string>

#include "base/deadline.h"
#include "core/exec.h"
#include "tools/call_memory.h"
#include "tools/stored_output.h"
#include "wire/exec_loop.h"

namespace nutshell {

class ExecWatch : private wire::ExecIo {
 public:
  // `channel` may have carried other conversations, and can carry more once this exec has ended.
  // Close it if the exec goes on: init then knows that no host listens.
  // What is held of the output is charged to `memory`; what finds no room there is counted as
  // missing.
  ExecWatch(wire::Channel& channel, CallMemory& memory)
      : channel_(channel),
        memory_(memory),
        conversation_(channel.new_conversation()),
        loop_(channel, conversation_, *this,
              {Deadline::never(), UINT64_MAX, wire::ExecBounds::Output::MayBeDropped}) {}
  ExecWatch(const ExecWatch&) = delete;
  ExecWatch& operator=(const ExecWatch&) = delete;
  ~ExecWatch() override = default;

  void start(const wire::Exec& exec) { channel_.queue(conversation_, exec); }
  void attach(const wire::Attach& attach);
  void send_input(const std::string& bytes);
  void end_input() { channel_.queue(conversation_, wire::InputEnd{}); }
  void send_signal(int number);
  // Lets the exec go on when its connection is closed.
  void keep() { channel_.queue(conversation_, wire::Keep{}); }
  void cancel() { channel_.queue(conversation_, wire::Cancel{}); }

  // Waits until the exec ends or the deadline passes, but not before init has answered every
  // request. Cancels the exec when `interrupt` becomes readable. Fails if the exec could not be
  // started, or does not exist.
  Result<> watch(const Deadline& deadline, int interrupt = -1);

  [[nodiscard]] const std::optional<ExecResult>& ending() const { return ending_; }
  // Output since this object was made.
  StoredStream output;
  StoredStream error;
  [[nodiscard]] std::uint64_t output_offset() const { return loop_.received(wire::Stream::Output); }
  [[nodiscard]] std::uint64_t error_offset() const { return loop_.received(wire::Stream::Error); }

 private:
  Taken take(wire::Stream stream, std::string_view bytes) override;
  void skip(wire::Stream stream, std::uint64_t bytes) override;
  [[nodiscard]] int event_descriptor() const override { return interrupt_; }
  std::optional<wire::ExecEvent> next_event() override;
  void pay_for(std::string_view more);

  wire::Channel& channel_;
  CallMemory& memory_;
  std::uint64_t paid_bytes_ = 0;  // covered by memory_, of both streams
  bool is_full_ = false;
  std::uint32_t conversation_;
  wire::ExecLoop loop_;
  std::optional<ExecResult> ending_;
  int interrupt_ = -1;
};

}  // namespace nutshell
