// Connects an exec to this process's own standard streams, signals and terminal.
#pragma once

#include <termios.h>

#include <optional>

#include "base/unique_fd.h"
#include "core/exec.h"
#include "wire/exec_io.h"

namespace nutshell::cli {

class TerminalIo : public wire::ExecIo {
 public:
  // Blocks the signals it handles; with a terminal on both sides, ours goes raw until the end.
  explicit TerminalIo(const ExecRequest& request);
  TerminalIo(TerminalIo&&) = delete;
  TerminalIo& operator=(TerminalIo&&) = delete;
  ~TerminalIo() override;

  Taken take(wire::Stream stream, std::string_view bytes) override;
  [[nodiscard]] int input_descriptor() const override;
  std::string read_input(std::size_t most) override;
  [[nodiscard]] int event_descriptor() const override { return signals_.get(); }
  std::optional<wire::ExecEvent> next_event() override;

 private:
  void make_raw();

  bool reads_input_;
  bool has_terminal_;
  UniqueFd signals_;
  int interrupts_ = 0;
  std::optional<termios> saved_;
};

}  // namespace nutshell::cli
