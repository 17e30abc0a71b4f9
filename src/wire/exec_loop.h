// Carries one exec's bytes, credits and events until its end; the loop behind InitClient::exec.
#pragma once

#include <array>

#include "wire/channel.h"
#include "wire/exec_io.h"

namespace nutshell::wire {

inline constexpr std::uint32_t kWindow = 1U << 20U;
inline constexpr std::size_t kInputWindow = 256U << 10U;

// The host's own limits: init keeps the command's, and is not trusted to.
struct ExecBounds {
  Deadline deadline = Deadline::never();
  std::uint64_t output_bytes = 0;

  // A silent init has a little longer than its command before it counts as lost.
  static ExecBounds of(const ExecLimits& limits);
};

// An Ended as the one result; what no exec can have is an error.
Result<ExecResult> decode_end(const Frame& frame);

class ExecLoop {
 public:
  ExecLoop(Channel& channel, std::uint32_t conversation, ExecIo& io, const ExecBounds& bounds)
      : channel_(channel), conversation_(conversation), io_(io), bounds_(bounds) {}

  // Where the streams go on after an attach.
  void start_at(std::uint64_t output_offset, std::uint64_t error_offset) {
    streams_[0].received = streams_[0].consumed = output_offset;
    streams_[1].received = streams_[1].consumed = error_offset;
  }
  Result<ExecResult> run();

 private:
  struct StreamState {
    std::uint64_t received = 0;
    std::uint64_t consumed = 0;  // as told to init
    bool is_closed = false;
    bool is_cut = false;  // there was no room for some of it
  };
  Result<> wait_for_something();
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
  std::optional<ExecResult> result_;
};

}  // namespace nutshell::wire
