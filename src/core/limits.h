// How much a sandbox, and one exec in it, may use. Every limit is always in force: zero means zero,
// never "unlimited".
#pragma once

#include <chrono>
#include <cstdint>

#include "base/result.h"
#include "core/field.h"

namespace nutshell {

struct Limits {
  std::uint64_t memory_bytes = 512ULL << 20U;
  std::uint32_t millicpus = 1000;
  std::uint32_t processes = 64;
  std::uint64_t disk_bytes = 512ULL << 20U;
  std::uint64_t open_files = 1024;
  std::chrono::milliseconds cpu_time{300'000};

  static constexpr NounInfo kNoun{"Limits", "How much a sandbox may use."};
  static void describe(auto&& field, auto& limits) {
    field({.number = 1,
           .name = "memory_bytes",
           .help = "memory of its processes and of the files in /workspace and /tmp",
           .format = Format::Bytes,
           .least = 16 * kMiB,  // init, a shell and one command
           .most = kPiB,
           .example = "512m",
           .flag = "memory"},
          limits.memory_bytes);
    field({.number = 2,
           .name = "cpus",
           .help = "cores: 1 is one core, 0.5 is half of one",
           .format = Format::Cores,
           .least = 10,
           .most = 1'000'000,
           .example = "1 or 0.5",
           .flag = "cpus"},
          limits.millicpus);
    field({.number = 3,
           .name = "processes",
           .help = "processes and threads at once",
           .least = 1,
           .most = 1'000'000,
           .example = "64",
           .flag = "processes"},
          limits.processes);
    field({.number = 4,
           .name = "disk_bytes",
           .help = "files in /workspace and /tmp together",
           .format = Format::Bytes,
           .least = 64 * kKiB,
           .most = kPiB,
           .example = "512m",
           .flag = "disk"},
          limits.disk_bytes);
    field({.number = 5,
           .name = "open_files",
           .help = "open files of one process",
           .least = 16,
           .most = 1'000'000,
           .example = "1024",
           .flag = "open-files"},
          limits.open_files);
    field({.number = 6,
           .name = "cpu_time_ms",
           .help = "CPU time of one command, its children included",
           .least = 1000,
           .most = kYearMs,
           .example = "60s",
           .flag = "cpu-time"},
          limits.cpu_time);
  }

  bool operator==(const Limits&) const = default;
};

// Limits of one exec, on top of those of its sandbox. Its fields are described as fields of
// ExecRequest, so their numbers continue those of ExecRequest.
struct ExecLimits {
  std::chrono::milliseconds timeout{30'000};
  std::uint64_t output_bytes = 64ULL << 20U;
  std::chrono::milliseconds cpu_time{300'000};

  static constexpr NounInfo kNoun{"ExecLimits", "How much one command may use."};
  static void describe(auto&& field, auto& limits) {
    field({.number = 6,
           .name = "timeout_ms",
           .help = "after this time the command and all its processes are killed",
           .least = 1,
           .most = kYearMs,
           .example = "30s",
           .flag = "timeout"},
          limits.timeout);
    field({.number = 7,
           .name = "output_limit_bytes",
           .help = "bytes of stdout and stderr together; a command that writes more is killed",
           .format = Format::Bytes,
           .least = 1,
           .most = kPiB,
           .example = "64m",
           .flag = "output-limit"},
          limits.output_bytes);
    field({.number = 8,
           .name = "cpu_time_ms",
           .help = "CPU time, children included",
           .least = 1000,
           .most = kYearMs,
           .example = "60s",
           .flag = "cpu-time"},
          limits.cpu_time);
  }

  bool operator==(const ExecLimits&) const = default;
};

// Refuses values that no backend can keep; the message names the possible range.
Result<> check_limits(const Limits& limits);
Result<> check_limits(const ExecLimits& limits);

}  // namespace nutshell
