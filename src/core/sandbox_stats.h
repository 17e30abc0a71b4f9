// What a sandbox holds now and has used since it was made, as its limits count it. What its host
// does not count is not there.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace nutshell {

struct SandboxStats {
  std::optional<std::uint64_t> memory_bytes;  // with what its files in memory take
  std::optional<std::uint64_t> peak_memory_bytes;
  std::optional<std::chrono::microseconds> cpu_time;
  std::optional<std::uint64_t> processes;   // with threads, and with what is ours in there
  std::optional<std::uint64_t> read_bytes;  // from disks, and written to them
  std::optional<std::uint64_t> written_bytes;
};

}  // namespace nutshell
