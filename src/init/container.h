// Runs init as the first process of a container that an engine made: its orders come on its
// standard input, and so does its first connection.
#pragma once

#include "base/result.h"
#include "core/init_entry.h"

namespace nutshell::init {

// Reads the orders, and uses standard input and output as the first connection. A thread carries
// its bytes: commands could kill a process.
Result<InitSetup> take_container_orders();

}  // namespace nutshell::init
