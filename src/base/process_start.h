// The start time of a process, which tells it from a later process of the same number.
#pragma once

#include <cstdint>
#include <optional>

namespace nutshell {

// In the kernel's ticks since boot; nullopt if there is no such process or it has ended.
std::optional<std::uint64_t> start_of_process(std::uint32_t process);

}  // namespace nutshell
