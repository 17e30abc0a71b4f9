// Looks into a process whose call the kernel holds: its memory and its descriptors. All that is
// there may change at any moment, so init decides on copies and acts on copies.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace nutshell::init {

// Returns a copy of the memory of a thread's process; empty if it cannot be read.
std::string copy_memory(pid_t thread, std::uint64_t address, std::size_t size);

// Returns a descriptor of the same open file as the thread's `number`; not open, with errno, if it
// has none or cannot be looked into.
UniqueFd take_descriptor(pid_t thread, int number);

}  // namespace nutshell::init
