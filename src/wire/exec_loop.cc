#include "wire/exec_loop.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace nutshell::wire {
namespace {

std::size_t index_of(Stream stream) {
  return stream == Stream::Error ? 1 : 0;
}

constexpr std::chrono::milliseconds kGrace{10'000};
constexpr std::chrono::milliseconds kSilence{1'000};  // before bounds_.is_cut_off is asked
constexpr std::chrono::seconds kAnswerTime{10};
constexpr std::size_t kMostReason = 1024;                   // bytes
constexpr std::chrono::microseconds kMostTime{1LL << 50U};  // can be turned into nanoseconds
constexpr std::uint64_t kMostOffset = 1ULL << 60U;

}  // namespace

ExecBounds ExecBounds::of(const ExecLimits& limits) {
  ExecBounds bounds{Deadline::in(limits.timeout + kGrace), limits.output_bytes};
  bounds.ask_at = Deadline::in(limits.timeout + kSilence);
  return bounds;
}

Deadline ExecLoop::patience() const {
  return is_taken_ ? bounds_.deadline : earlier(bounds_.deadline, taken_by_);
}

bool ExecLoop::is_known_to_be_cut_off() {
  if (!bounds_.is_cut_off || !bounds_.ask_at.has_passed()) return false;
  return std::exchange(bounds_.is_cut_off, nullptr)();
}

Result<bool> ExecLoop::go_on(const Deadline& leave) {
  if (patience().has_passed()) {
    result_ = lost("init did not answer in time");
    return true;
  }
  if (!channel_.send_some()) result_ = lost("the connection to the sandbox was closed");
  TRY(take_frames());
  if (!result_ && is_known_to_be_cut_off())
    result_ = lost("the engine that carries the connection does not answer");
  if (result_) return true;
  if (is_taken_ && leave.has_passed()) return false;
  const Deadline quiet = bounds_.is_cut_off ? earlier(bounds_.ask_at, patience()) : patience();
  TRY(wait_for_something(is_taken_ ? earlier(leave, quiet) : quiet));
  return true;
}

Result<ExecResult> ExecLoop::run() {
  while (!result_)
    TRY(go_on(Deadline::never()));
  return *result_;
}

Result<std::optional<ExecResult>> ExecLoop::run_until(const Deadline& leave) {
  ping_ = channel_.new_conversation();
  is_taken_ = false;
  taken_by_ = Deadline::in(kAnswerTime);
  channel_.queue(ping_, Ping{});  // its answer comes after what was asked before it
  while (!result_ && TRY(go_on(leave))) {
  }
  return result_;
}

ExecResult ExecLoop::lost(std::string detail) const {
  ExecResult result;
  result.outcome = Outcome::Lost;
  result.detail = std::move(detail);
  result.stdout_bytes = streams_[0].received;
  result.stderr_bytes = streams_[1].received;
  return result;
}

bool ExecLoop::wants_input() const {
  return !is_input_ended_ && input_sent_ - input_consumed_ < kInputWindow;
}

Result<> ExecLoop::wait_for_something(const Deadline& deadline) {
  const auto stream_events = static_cast<short>(POLLIN | (channel_.queued() > 0 ? POLLOUT : 0));
  std::array<pollfd, 3> descriptors{{
      {channel_.descriptor(), stream_events, 0},
      {wants_input() ? io_.input_descriptor() : -1, POLLIN, 0},
      {io_.event_descriptor(), POLLIN, 0},
  }};
  const int ready = ::poll(descriptors.data(), descriptors.size(), deadline.poll_timeout());
  if (ready < 0 && errno != EINTR) return syscall_failure("poll");
  if (ready <= 0) return {};
  if (descriptors[1].revents != 0) pass_input();
  pass_events();
  if ((descriptors[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) return {};
  if (TRY(channel_.receive_some())) return {};
  TRY(take_frames());
  if (!result_) result_ = lost("the connection to the sandbox was closed");
  return {};
}

void ExecLoop::pass_input() {
  std::string bytes = io_.read_input(std::min(kInputWindow, kMostData));
  if (bytes.empty()) {
    is_input_ended_ = true;
    channel_.queue(conversation_, InputEnd{});
    return;
  }
  input_sent_ += bytes.size();
  channel_.queue(conversation_, Input{std::move(bytes)});
}

void ExecLoop::pass_events() {
  while (const auto event = io_.next_event()) {
    if (const auto* size = std::get_if<WindowSize>(&*event)) {
      channel_.queue(conversation_, Resize{size->rows, size->columns});
    } else if (const auto* signal = std::get_if<SendSignal>(&*event)) {
      channel_.queue(conversation_, Signal{static_cast<std::uint32_t>(signal->number)});
    } else {
      channel_.queue(conversation_, Cancel{});
    }
  }
}

Result<> ExecLoop::take_frames() {
  while (!result_) {
    const auto frame = TRY(channel_.next_frame());
    if (!frame) return {};
    // Ignores late frames of conversations that are over.
    if (frame->conversation == conversation_) TRY(take(*frame));
    if (frame->conversation == ping_) is_taken_ = true;
  }
  return {};
}

Result<> ExecLoop::take(const Frame& frame) {
  switch (frame.type) {
    case MessageType::Output:
      return take_output(frame);
    case MessageType::InputConsumed: {
      const auto consumed = TRY(decode<InputConsumed>(frame.payload));
      input_consumed_ = std::clamp(consumed.offset, input_consumed_, input_sent_);
      return {};
    }
    case MessageType::Ended:
      return take_end(frame);
    case MessageType::Failed:
      return decode_failure(frame);
    default:
      return failure(ErrorCode::Corrupt, "init sent a message that does not belong to an exec");
  }
}

Result<> ExecLoop::take_output(const Frame& frame) {
  const auto output = TRY(decode<Output>(frame.payload));
  StreamState& state = streams_[index_of(output.stream)];
  const bool may_skip = bounds_.output == ExecBounds::Output::MayBeDropped;
  if (may_skip && output.offset > state.received && output.offset <= kMostOffset) {
    io_.skip(output.stream, output.offset - state.received);
    state.received = output.offset;
  }
  if (output.offset != state.received) return failure(ErrorCode::Corrupt, "output out of order");
  state.received += output.bytes.size();
  if (streams_[0].received + streams_[1].received > bounds_.output_bytes) {
    return failure(ErrorCode::Corrupt, "more output than the limit allows");
  }
  if (!state.is_closed) {
    const ExecIo::Taken taken = io_.take(output.stream, output.bytes);
    if (taken == ExecIo::Taken::NoRoom) end_for_lack_of_room(state);
    if (taken == ExecIo::Taken::ReaderGone) {
      state.is_closed = true;
      channel_.queue(conversation_, CloseOutput{output.stream});
    }
  }
  // Init may drop what was not consumed: it is told at once.
  if (may_skip || state.received - state.consumed >= kWindow / 4) {
    state.consumed = state.received;
    channel_.queue(conversation_, Consumed{output.stream, state.consumed});
  }
  return {};
}

void ExecLoop::end_for_lack_of_room(StreamState& cut) {
  cut.is_cut = true;
  // No more output is passed on, so that the kept output has no holes.
  for (StreamState& state : streams_)
    state.is_closed = true;
  if (!std::exchange(has_no_room_, true)) channel_.queue(conversation_, Cancel{});
}

Result<> ExecLoop::take_end(const Frame& frame) {
  result_ = TRY(decode_end(frame));
  if (!has_no_room_) return {};
  // The command may have ended by itself before the Cancel arrived.
  result_->outcome = Outcome::OutputLimit;
  result_->detail = "there is no room here to keep more of its output";
  result_->stdout_truncated |= streams_[0].is_cut;
  result_->stderr_truncated |= streams_[1].is_cut;
  return {};
}

Failure decode_failure(const Frame& frame) {
  auto failed = decode<Failed>(frame.payload);
  if (!failed) return Failure(std::move(failed).error());
  return failure(failed->code, std::move(failed->message));
}

Result<ExecResult> decode_end(const Frame& frame) {
  ExecResult result = TRY(decode<Ended>(frame.payload)).result;
  result.exit_code &= 0xff;
  result.signal = std::clamp(result.signal, 0, 64);
  result.duration = std::min(result.duration, kMostTime);
  result.cpu_time = std::min(result.cpu_time, kMostTime);
  auto& refused = result.refused_connections;
  refused.resize(std::min(refused.size(), ExecResult::kMostRefusals));
  for (std::string& reason : refused)
    reason.resize(std::min(reason.size(), kMostReason));
  return result;
}

}  // namespace nutshell::wire
