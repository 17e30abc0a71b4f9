#include "backends/native/launcher_protocol.h"

namespace nutshell::native {

namespace {

std::optional<std::uint64_t> counted(std::uint64_t value) {
  if (value == PackedStats::kNotCounted) return std::nullopt;
  return value;
}

}  // namespace

Refusals unpack_refusals(const PackedStats& packed) {
  return {counted(packed.memory_kills), counted(packed.unreachable)};
}

SandboxStats unpack(const PackedStats& packed) {
  SandboxStats stats;
  stats.memory_bytes = counted(packed.memory_bytes);
  stats.peak_memory_bytes = counted(packed.peak_memory_bytes);
  stats.processes = counted(packed.processes);
  if (const auto cpu = counted(packed.cpu_us))
    stats.cpu_time = std::chrono::microseconds(static_cast<std::int64_t>(*cpu));
  return stats;
}

}  // namespace nutshell::native
