#include "runtime/exec_watch.h"

#include <poll.h>

#include <algorithm>
#include <array>

#include "wire/exec_loop.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;
constexpr auto kAnswerTime = 10s;
constexpr std::size_t kMostInput = 128U << 10U;  // in one message

}  // namespace

void ExecWatch::attach(const wire::Attach& attach) {
  output_offset_ = attach.output_offset;
  error_offset_ = attach.error_offset;
  channel_.queue(conversation_, attach);
}

void ExecWatch::send_input(const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kMostInput)
    channel_.queue(conversation_, wire::Input{bytes.substr(at, kMostInput)});
}

void ExecWatch::send_signal(int number) {
  channel_.queue(conversation_, wire::Signal{static_cast<std::uint32_t>(number)});
}

void ExecWatch::lose(std::string detail) {
  ExecResult result;
  result.outcome = Outcome::Lost;
  result.detail = std::move(detail);
  ending_ = std::move(result);
}

Result<> ExecWatch::watch(const Deadline& deadline, int interrupt) {
  last_ping_ = channel_.new_conversation();
  channel_.queue(last_ping_, wire::Ping{});  // its answer comes after what was asked before it
  const Deadline patience = Deadline::in(kAnswerTime);
  while (!ending_) {
    if (!channel_.send_some()) {
      lose("the sandbox has ended");
      return {};
    }
    TRY(take_frames());
    const bool is_taken = answered_ping_ == last_ping_;
    if (ending_ || (deadline.has_passed() && is_taken)) return {};
    if (!is_taken && patience.has_passed()) {
      lose("init does not answer");
      return {};
    }
    const auto events = static_cast<short>(POLLIN | (channel_.queued() > 0 ? POLLOUT : 0));
    std::array<pollfd, 2> polled{{{channel_.descriptor(), events, 0}, {interrupt, POLLIN, 0}}};
    const Deadline& next = is_taken ? deadline : patience;
    const int ready = ::poll(polled.data(), polled.size(), next.poll_timeout());
    if (ready < 0 && errno != EINTR) return syscall_failure("poll");
    if (polled[1].revents != 0) {
      cancel();
      interrupt = -1;
    }
    const bool is_readable = (polled[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
    if (ready <= 0 || !is_readable || TRY(channel_.receive_some())) continue;
    TRY(take_frames());
    if (!ending_) lose("the sandbox has ended");
  }
  return {};
}

Result<> ExecWatch::take_frames() {
  while (!ending_) {
    const auto frame = TRY(channel_.next_frame());
    if (!frame) break;
    if (frame->conversation == conversation_) TRY(take(*frame));
    if (frame->conversation == last_ping_) answered_ping_ = last_ping_;
  }
  return {};
}

Result<> ExecWatch::take(const wire::Frame& frame) {
  switch (frame.type) {
    case wire::MessageType::Output:
      return take_output(frame);
    case wire::MessageType::InputConsumed:
      return {};
    case wire::MessageType::Ended:
      return take_end(frame);
    case wire::MessageType::Failed: {
      auto failed = TRY(wire::decode<wire::Failed>(frame.payload));
      const auto most = static_cast<std::uint8_t>(ErrorCode::Internal);
      return failure(static_cast<ErrorCode>(std::min(failed.code, most)),
                     std::move(failed.message));
    }
    default:
      return failure(ErrorCode::Corrupt, "a message that no exec sends");
  }
}

Result<> ExecWatch::take_output(const wire::Frame& frame) {
  const auto part = TRY(wire::decode<wire::Output>(frame.payload));
  const bool is_error = part.stream == wire::Stream::Error;
  std::uint64_t& offset = is_error ? error_offset_ : output_offset_;
  StoredStream& stream = is_error ? error : output;
  constexpr std::uint64_t kMostOffset = 1ULL << 60U;
  if (part.offset < offset || part.offset > kMostOffset)
    return failure(ErrorCode::Corrupt, "output out of order");
  if (part.offset > offset) {
    dropped_ += part.offset - offset;
    stream.skip(part.offset - offset);
  }
  stream.append(part.bytes);
  offset = part.offset + part.bytes.size();
  channel_.queue(conversation_, wire::Consumed{part.stream, offset});
  return {};
}

Result<> ExecWatch::take_end(const wire::Frame& frame) {
  ending_ = TRY(wire::decode_end(frame));
  return {};
}

}  // namespace nutshell
