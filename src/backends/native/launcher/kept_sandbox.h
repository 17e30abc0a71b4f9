// A sandbox that the launcher keeps, and when it ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "backends/native/launcher/workspace_saver.h"
#include "backends/native/processes/hidden_environment.h"
#include "backends/native/start/starter.h"
#include "base/deadline.h"
#include "core/sandbox_spec.h"

namespace nutshell::native {

struct KeptSandbox {
  std::uint64_t key = 0;  // of the event that its init has ended
  SandboxSpec spec;       // without its environment
  HiddenEnvironment environment;
  NativeSandbox sandbox;
  SavingOrder saving;
  WorkspaceSaver saver;  // not started if it has no workspace
  Clock::time_point started;
  Clock::time_point ttl_end;     // when init ends itself
  Clock::time_point end;         // a little later: when the launcher ends it
  Clock::time_point listed_end;  // `end` as KeptSandboxes has sorted it
  bool is_paused = false;
  bool is_listed = true;                        // not if it is for one command of one caller
  std::chrono::milliseconds left_at_resume{0};  // of the ttl, while it is paused
  // Keys of the requests that are done to it one after the other; the first one is under way.
  std::deque<std::uint64_t> requests;

  [[nodiscard]] std::chrono::milliseconds time_left() const;
  // Moves ttl_end and end without telling init.
  void move_end(std::chrono::milliseconds left);
  // Tells init, and moves both ends if that worked. False if init does not read its messages.
  Result<bool> tell_time_left(std::chrono::milliseconds left);
};

}  // namespace nutshell::native
