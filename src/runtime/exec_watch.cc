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
  (stream == wire::Stream::Error ? error : output).append(bytes);
  return Taken::Yes;
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
