#include "cli/terminal_io.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/file.h"

namespace nutshell::cli {
namespace {

UniqueFd watch_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH})
    ::sigaddset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

TerminalIo::TerminalIo(const ExecRequest& request)
    : reads_input_(request.standard_input == StandardInput::Streamed),
      has_terminal_(request.terminal == Terminal::Pty),
      signals_(watch_signals()) {
  ::signal(SIGPIPE, SIG_IGN);  // a closed reader is told to the command instead
  if (has_terminal_ && reads_input_) make_raw();
}

TerminalIo::~TerminalIo() {
  if (saved_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &*saved_);
}

void TerminalIo::make_raw() {
  termios settings{};
  if (::tcgetattr(STDIN_FILENO, &settings) != 0) return;  // not a terminal on our side
  saved_ = settings;
  ::cfmakeraw(&settings);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &settings);
}

wire::ExecIo::Taken TerminalIo::take(wire::Stream stream, std::string_view bytes) {
  const int fd = stream == wire::Stream::Error ? STDERR_FILENO : STDOUT_FILENO;
  return write_all(fd, bytes) ? Taken::Yes : Taken::ReaderGone;
}

int TerminalIo::input_descriptor() const {
  return reads_input_ ? STDIN_FILENO : -1;
}

std::string TerminalIo::read_input(std::size_t most) {
  std::string bytes(most, '\0');
  const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes;
}

std::optional<wire::ExecEvent> TerminalIo::next_event() {
  signalfd_siginfo information{};
  if (::read(signals_.get(), &information, sizeof information) != sizeof information) return {};
  const int number = static_cast<int>(information.ssi_signo);
  if (number == SIGWINCH) {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
    return WindowSize{size.ws_row, size.ws_col};
  }
  // The command gets the signal first; whoever asks again means it.
  if (++interrupts_ > 1) return wire::CancelExec{};
  return wire::SendSignal{number};
}

}  // namespace nutshell::cli
