// How much a sandbox, and one exec in it, may use. Every field is always in force: zero is zero,
// never "unlimited".
#pragma once

#include <chrono>
#include <cstdint>

#include "base/result.h"

namespace nutshell {

struct Limits {
  std::uint64_t memory_bytes = 512ULL << 20U;  // processes and the files in /workspace and /tmp
  std::uint32_t millicpus = 1000;              // 1000 is one core
  std::uint32_t processes = 64;                // processes and threads, init not counted
  std::uint64_t disk_bytes = 512ULL << 20U;    // /workspace and /tmp together
  std::uint64_t open_files = 1024;             // per process
  std::chrono::seconds cpu_time{300};          // CPU seconds of one exec, its children included

  bool operator==(const Limits&) const = default;
};

// What one exec may use; the sandbox's own limits hold besides.
struct ExecLimits {
  std::chrono::milliseconds timeout{30'000};
  std::uint64_t output_bytes = 64ULL << 20U;  // stdout and stderr together
  std::chrono::seconds cpu_time{300};

  bool operator==(const ExecLimits&) const = default;
};

// Refuses what no backend could keep, and says what would be possible.
Result<> check_limits(const Limits& limits);
Result<> check_limits(const ExecLimits& limits);

}  // namespace nutshell
