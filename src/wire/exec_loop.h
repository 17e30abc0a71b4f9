// Carries one exec's bytes, flow control and events until its end. Every exec on the host goes
// through this loop, by InitClient::exec() or ExecWatch. All that comes from init is hostile.
#pragma once

#include <array>
#include <functional>

#include "wire/channel.h"
#include "wire/exec_io.h"

namespace nutshell::wire {

inline constexpr std::uint32_t kWindow = 1U << 20U;
inline constexpr std::size_t kInputWindow = 256U << 10U;

// The host's own limits: init enforces the command's, but the host does not rely on that.
struct ExecBounds {
  Deadline deadline = Deadline::never();
  std::uint64_t output_bytes = 0;
  // Whether init may drop output that was not taken in time.
  enum class Output : std::uint8_t { Whole, MayBeDropped };
  Output output = Output::Whole;

  // Asked once, a second after the command's timeout, if init has not reported the end: true if the
  // process that carries the stream does not answer, so that waiting longer is useless. May be
  // null.
  std::function<bool()> is_cut_off = nullptr;
  Deadline ask_at = Deadline::never();

  // Gives a silent init a little longer than its command before it counts as lost.
  static ExecBounds of(const ExecLimits& limits);
};

// Decodes an Ended frame, and brings forged numbers into their range.
Result<ExecResult> decode_end(const Frame& frame);
// Decodes a Failed frame into the error it carries.
Failure decode_failure(const Frame& frame);

class ExecLoop {
 public:
  ExecLoop(Channel& channel, std::uint32_t conversation, ExecIo& io, const ExecBounds& bounds)
      : channel_(channel), conversation_(conversation), io_(io), bounds_(bounds) {}

  // Sets the offsets at which the streams go on after an attach.
  void start_at(std::uint64_t output_offset, std::uint64_t error_offset) {
    streams_[0].received = streams_[0].consumed = output_offset;
    streams_[1].received = streams_[1].consumed = error_offset;
  }
  Result<ExecResult> run();
  // Runs until the exec ends or `leave` passes, but not before init has received all that was sent.
  // Returns nullopt if the exec goes on. May be called again.
  Result<std::optional<ExecResult>> run_until(const Deadline& leave);
  [[nodiscard]] std::uint64_t received(Stream stream) const {
    return streams_[stream == Stream::Error ? 1 : 0].received;
  }

 private:
  struct StreamState {
    std::uint64_t received = 0;
    std::uint64_t consumed = 0;  // as told to init
    bool is_closed = false;
    bool is_cut = false;  // io_ had no room for some of it
  };
  // Returns false if `leave` has passed and the exec goes on.
  Result<bool> go_on(const Deadline& leave);
  // When a silent init counts as lost.
  [[nodiscard]] Deadline patience() const;
  // Whether it is time to ask bounds_.is_cut_off, and the answer is yes.
  bool is_known_to_be_cut_off();
  Result<> wait_for_something(const Deadline& deadline);
  void pass_input();
  void pass_events();
  Result<> take_frames();
  Result<> take(const Frame& frame);
  Result<> take_output(const Frame& frame);
  void end_for_lack_of_room(StreamState& cut);
  Result<> take_end(const Frame& frame);
  [[nodiscard]] bool wants_input() const;
  ExecResult lost(std::string detail) const;

  Channel& channel_;
  std::uint32_t conversation_;
  ExecIo& io_;
  ExecBounds bounds_;
  std::array<StreamState, 2> streams_;
  std::uint64_t input_sent_ = 0;
  std::uint64_t input_consumed_ = 0;
  bool is_input_ended_ = false;
  bool has_no_room_ = false;
  std::uint32_t ping_ = 0;  // the conversation whose answer shows that init took everything
  bool is_taken_ = true;
  Deadline taken_by_ = Deadline::never();
  std::optional<ExecResult> result_;
};

}  // namespace nutshell::wire
