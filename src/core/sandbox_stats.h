// Resources that a sandbox uses now and has used since it started, counted in the same way as its
// limits. Figures that the host does not count are nullopt.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/field.h"

namespace nutshell {

struct SandboxStats {
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> peak_memory_bytes;
  std::optional<std::chrono::microseconds> cpu_time;
  std::optional<std::uint64_t> processes;
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> written_bytes;

  static constexpr NounInfo kNoun{"SandboxStats", "What a sandbox holds now and has used.",
                                  Direction::Given};
  static void describe(auto&& field, auto& stats) {
    field({.number = 1,
           .name = "memory_bytes",
           .help = "memory it holds now, with its files in memory",
           .format = Format::Bytes},
          stats.memory_bytes);
    field({.number = 2,
           .name = "peak_memory_bytes",
           .help = "the most memory it has held",
           .format = Format::Bytes},
          stats.peak_memory_bytes);
    field({.number = 3, .name = "cpu_time_ms", .help = "CPU time since it was made"},
          stats.cpu_time);
    field({.number = 4,
           .name = "processes",
           .help = "processes and threads in it now, Nutshell's own included"},
          stats.processes);
    field({.number = 5,
           .name = "read_bytes",
           .help = "bytes read from disks",
           .format = Format::Bytes},
          stats.read_bytes);
    field({.number = 6,
           .name = "written_bytes",
           .help = "bytes written to disks",
           .format = Format::Bytes},
          stats.written_bytes);
  }
};

}  // namespace nutshell
