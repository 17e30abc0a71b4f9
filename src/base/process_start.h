// When a process was started: what tells it from a later one of the same number.
#pragma once

#include <cstdint>
#include <optional>

namespace nutshell {

// In the kernel's ticks since it booted; nothing: there is no such process, or it has ended.
std::optional<std::uint64_t> start_of_process(std::uint32_t process);

}  // namespace nutshell
