// Turns signals of this process into events for a command: the first signal is passed on to the
// command, the second one cancels it.
#pragma once

#include <optional>

#include "base/unique_fd.h"
#include "wire/exec_io.h"

namespace nutshell::cli {

class SignalEvents {
 public:
  SignalEvents();  // blocks the signals it watches

  [[nodiscard]] int descriptor() const { return signals_.get(); }
  std::optional<wire::ExecEvent> next();

 private:
  UniqueFd signals_;
  int interrupts_ = 0;
};

}  // namespace nutshell::cli
