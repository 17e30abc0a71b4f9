// The system-call filter that lets init act in the place of commands that call connect(), and the
// way in which a new command hands over its end of it.
#pragma once

#include <functional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "init/exec/process_marks.h"

namespace nutshell::init {

// Whether this kernel can tell init of calls of its commands, and let it act in their place.
bool can_watch_connects();

// For a child between vfork and exec: puts the filter on itself and sends the descriptor on which
// its calls arrive through the packet socket `sender`. Returns 0 or an error number.
int watch_own_connects(int sender) noexcept;

// Takes the descriptor that a new command sent; not open if there is none.
UniqueFd take_watch(int receiver);

// Tells how commands start with that filter.
struct ConnectWatch {
  int sender = -1;                          // -1: commands start without it
  std::function<void(Mark)> has_started{};  // called after a command sent its descriptor
};

}  // namespace nutshell::init
