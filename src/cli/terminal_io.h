// Connects an exec to this process's own standard streams, signals and terminal.
#pragma once

#include <termios.h>

#include <chrono>
#include <deque>
#include <optional>

#include "base/deadline.h"
#include "cli/signal_events.h"
#include "core/exec.h"
#include "wire/exec_io.h"

namespace nutshell::cli {

class TerminalIo : public wire::ExecIo {
 public:
  // If the exec has a terminal and so do we, ours is raw until the end.
  explicit TerminalIo(const ExecRequest& request);
  TerminalIo(TerminalIo&&) = delete;
  TerminalIo& operator=(TerminalIo&&) = delete;
  ~TerminalIo() override;

  Taken take(wire::Stream stream, std::string_view bytes) override;
  [[nodiscard]] int input_descriptor() const override;
  std::string read_input(std::size_t most) override;
  [[nodiscard]] int event_descriptor() const override { return signals_.descriptor(); }
  std::optional<wire::ExecEvent> next_event() override;

  void restore_terminal();
  // Why output could not be written; empty also if the reader closed its end.
  [[nodiscard]] const std::string& write_error() const { return write_error_; }

 private:
  enum class Room { Some, None };
  void make_raw();
  Room wait_for_room(int fd);

  bool reads_input_;
  SignalEvents signals_;
  std::deque<wire::ExecEvent> waiting_;  // signals that came while the reader was slow
  std::chrono::milliseconds patience_;   // how long to wait for a reader that does not read
  Deadline deadline_ = Deadline::never();
  std::string write_error_;
  std::optional<termios> saved_;
};

// Captures the output, and passes signals and, if the command wants it, standard input on to it.
class CapturingIo : public wire::CapturedOutput {
 public:
  explicit CapturingIo(const ExecRequest& request)
      : reads_input_(request.standard_input == StandardInput::Streamed) {}

  [[nodiscard]] int input_descriptor() const override;
  std::string read_input(std::size_t most) override;
  [[nodiscard]] int event_descriptor() const override { return signals_.descriptor(); }
  std::optional<wire::ExecEvent> next_event() override { return signals_.next(); }

 private:
  bool reads_input_;
  SignalEvents signals_;
};

}  // namespace nutshell::cli
