// Init as the first process of a container that somebody else made: what it is told comes through
// its standard input, and so does its first connection.
#pragma once

#include "base/result.h"
#include "core/init_entry.h"

namespace nutshell::init {

// Reads the orders, and makes of standard input and output the first connection. A thread carries
// its bytes: a process could be killed by what runs here.
Result<InitSetup> take_container_orders();

}  // namespace nutshell::init
