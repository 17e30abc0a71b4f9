#include "cli/terminal_io.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

namespace nutshell::cli {
namespace {

std::string read_standard_input(std::size_t most) {
  std::string bytes(most, '\0');
  const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes;
}

}  // namespace

TerminalIo::TerminalIo(const ExecRequest& request)
    : reads_input_(request.standard_input == StandardInput::Streamed),
      patience_(request.limits.timeout + std::chrono::seconds(3)) {
  if (request.terminal == Terminal::Pty && reads_input_) make_raw();
}

TerminalIo::~TerminalIo() {
  restore_terminal();
}

void TerminalIo::restore_terminal() {
  if (saved_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &*saved_);
  saved_.reset();
}

void TerminalIo::make_raw() {
  termios settings{};
  if (::tcgetattr(STDIN_FILENO, &settings) != 0) return;  // our standard input is no terminal
  saved_ = settings;
  ::cfmakeraw(&settings);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &settings);
}

// Waits until `fd` takes bytes. A reader that does not read delays neither signals nor the
// deadline.
TerminalIo::Room TerminalIo::wait_for_room(int fd) {
  for (;;) {
    std::array<pollfd, 2> descriptors{{{fd, POLLOUT, 0}, {signals_.descriptor(), POLLIN, 0}}};
    const int ready = ::poll(descriptors.data(), descriptors.size(), deadline_.poll_timeout());
    if (ready < 0 && errno != EINTR) return Room::Some;  // write() will report the error
    if (ready == 0) return Room::None;
    if (ready > 0 && descriptors[0].revents != 0) return Room::Some;
    while (const auto event = signals_.next()) {
      waiting_.push_back(*event);
      if (std::holds_alternative<wire::CancelExec>(*event)) return Room::None;
    }
  }
}

wire::ExecIo::Taken TerminalIo::take(wire::Stream stream, std::string_view bytes) {
  const int fd = stream == wire::Stream::Error ? STDERR_FILENO : STDOUT_FILENO;
  // A pipe that is ready takes this much without blocking.
  constexpr std::size_t kStep = 4096;
  // The time counts from the first output: before it, an image may still be pulled.
  if (deadline_.is_never()) deadline_ = Deadline::in(patience_);
  while (!bytes.empty()) {
    if (wait_for_room(fd) == Room::None) return Taken::ReaderGone;
    const ssize_t count = ::write(fd, bytes.data(), std::min(bytes.size(), kStep));
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0 && errno != EPIPE) write_error_ = ::strerrordesc_np(errno);
    if (count < 0) return Taken::ReaderGone;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return Taken::Yes;
}

int TerminalIo::input_descriptor() const {
  return reads_input_ ? STDIN_FILENO : -1;
}

std::string TerminalIo::read_input(std::size_t most) {
  return read_standard_input(most);
}

int CapturingIo::input_descriptor() const {
  return reads_input_ ? STDIN_FILENO : -1;
}

std::string CapturingIo::read_input(std::size_t most) {
  return read_standard_input(most);
}

std::optional<wire::ExecEvent> TerminalIo::next_event() {
  if (waiting_.empty()) return signals_.next();
  const wire::ExecEvent event = waiting_.front();
  waiting_.pop_front();
  return event;
}

}  // namespace nutshell::cli
