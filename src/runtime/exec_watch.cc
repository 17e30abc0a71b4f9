#include "runtime/exec_watch.h"

#include <poll.h>

#include <utility>

namespace nutshell {
namespace {

constexpr std::size_t kMostInput = 128U << 10U;  // in one message

}  // namespace

void ExecWatch::attach(const wire::Attach& attach) {
  loop_.start_at(attach.output_offset, attach.error_offset);
  channel_.queue(conversation_, attach);
}

void ExecWatch::send_input(const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kMostInput)
    channel_.queue(conversation_, wire::Input{bytes.substr(at, kMostInput)});
}

void ExecWatch::send_signal(int number) {
  channel_.queue(conversation_, wire::Signal{static_cast<std::uint32_t>(number)});
}

Result<> ExecWatch::watch(const Deadline& deadline, int interrupt) {
  interrupt_ = interrupt;
  ending_ = TRY(loop_.run_until(deadline));
  return {};
}

wire::ExecIo::Taken ExecWatch::take(wire::Stream stream, std::string_view bytes) {
  StoredStream& stored = stream == wire::Stream::Error ? error : output;
  pay_for(bytes);
  stored.append(bytes);
  return Taken::Yes;
}

// Pays in steps, before the bytes are stored. The command is not ended when there is no room: its
// caller learns how it ends, and how much of its output was not kept.
void ExecWatch::pay_for(std::string_view more) {
  if (is_full_) return;
  constexpr std::uint64_t kStep = 64U << 10U;
  const std::uint64_t held = output.size() + error.size() + more.size();
  if (held <= paid_bytes_) return;
  if (memory_.try_take((held + kStep - paid_bytes_) * CallMemory::kForAByte)) {
    paid_bytes_ = held + kStep;
    return;
  }
  is_full_ = true;
  output.stop_growing();
  error.stop_growing();
}

void ExecWatch::skip(wire::Stream stream, std::uint64_t bytes) {
  (stream == wire::Stream::Error ? error : output).skip(bytes);
}

std::optional<wire::ExecEvent> ExecWatch::next_event() {
  pollfd polled{interrupt_, POLLIN, 0};
  if (interrupt_ < 0 || ::poll(&polled, 1, 0) < 1) return std::nullopt;
  interrupt_ = -1;  // it stays readable, and one cancel is enough
  return wire::CancelExec{};
}

}  // namespace nutshell
