// A look at an exec that may outlive the look: takes its output until it ends, or until time is
// up, and then leaves it alone. All that comes from init is hostile.
#pragma once

#include <optional>
#include <string>

#include "base/deadline.h"
#include "core/exec.h"
#include "tools/stored_output.h"
#include "wire/channel.h"

namespace nutshell {

class ExecWatch {
 public:
  // `channel` may have carried other conversations, and can carry more once this exec has ended.
  // One whose exec goes on is to be closed: that is how init learns that nobody looks any more.
  explicit ExecWatch(wire::Channel& channel)
      : channel_(channel), conversation_(channel.new_conversation()) {}

  void start(const wire::Exec& exec) { channel_.queue(conversation_, exec); }
  void attach(const wire::Attach& attach);
  void send_input(const std::string& bytes);
  void end_input() { channel_.queue(conversation_, wire::InputEnd{}); }
  void send_signal(int number);
  void cancel() { channel_.queue(conversation_, wire::Cancel{}); }

  // Until the end, or the deadline, but not before init has taken all that was asked of it. When
  // `interrupt` becomes readable the exec is cancelled. An error: it could not be started, or is
  // not there.
  Result<> watch(const Deadline& deadline, int interrupt = -1);

  [[nodiscard]] const std::optional<ExecResult>& ending() const { return ending_; }
  // What came since the start of this look.
  StoredStream output;
  StoredStream error;
  [[nodiscard]] std::uint64_t output_offset() const { return output_offset_; }
  [[nodiscard]] std::uint64_t error_offset() const { return error_offset_; }
  // Bytes that init dropped before they could be taken.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  Result<> take_frames();
  Result<> take(const wire::Frame& frame);
  Result<> take_output(const wire::Frame& frame);
  Result<> take_end(const wire::Frame& frame);
  void lose(std::string detail);

  wire::Channel& channel_;
  std::uint32_t conversation_;
  std::optional<ExecResult> ending_;
  std::uint32_t last_ping_ = 0;
  std::uint32_t answered_ping_ = 0;
  std::uint64_t output_offset_ = 0;
  std::uint64_t error_offset_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace nutshell
