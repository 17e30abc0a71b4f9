// The size of this machine, as far as this process may use it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace nutshell {

struct Machine {
  std::uint64_t memory_bytes = 0;  // RAM, or less where a cgroup gives less
  std::uint32_t cores = 1;
  std::uint64_t processes = 0;  // ids that the kernel can give to processes and threads at once
};

// Reads /proc and the cgroup of this process. A figure that cannot be read counts as small:
// 1 GiB, 1 core, 32768 processes.
Machine read_machine();

// Returns the RAM alone, with one system call: cheap enough for a check at every start.
std::uint64_t physical_memory_bytes();
// The number of cores that the CPU affinity of this thread allows.
std::uint32_t usable_cores();
// The number of processes that the kernel can number at once.
std::uint64_t most_processes();

// The size of the file system that holds this directory, or will hold it.
std::uint64_t file_system_bytes(std::filesystem::path directory);

}  // namespace nutshell
