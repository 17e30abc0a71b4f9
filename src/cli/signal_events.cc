#include "cli/signal_events.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace nutshell::cli {

SignalEvents::SignalEvents() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH})
    ::sigaddset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
  signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the CLI has one thread
  ::signal(SIGPIPE, SIG_IGN);  // the command gets SIGPIPE instead
}

std::optional<wire::ExecEvent> SignalEvents::next() {
  signalfd_siginfo information{};
  if (::read(signals_.get(), &information, sizeof information) != sizeof information) return {};
  const int number = static_cast<int>(information.ssi_signo);
  if (number == SIGWINCH) {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
    return WindowSize{size.ws_row, size.ws_col};
  }
  if (++interrupts_ > 1) return wire::CancelExec{};
  return wire::SendSignal{number};
}

}  // namespace nutshell::cli
