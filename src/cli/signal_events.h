// Signals of this process as events for a command: the first is passed on to it, and whoever asks
// again means it.
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
