#include "core/limits.h"

#include <fmt/format.h>

#include "base/byte_size.h"

namespace nutshell {
namespace {

constexpr std::uint64_t kLeastMemory = 16ULL << 20U;  // init, a shell and one command
constexpr std::uint64_t kMostBytes = 1ULL << 50U;
constexpr std::uint64_t kLeastDisk = 64ULL << 10U;
constexpr std::uint32_t kMostProcesses = 1'000'000;
constexpr std::chrono::seconds kLongest{365LL * 24 * 3600};

Failure impossible(const std::string& message) {
  return failure(ErrorCode::InvalidArgument, message);
}

}  // namespace

Result<> check_limits(const Limits& limits) {
  if (limits.memory_bytes < kLeastMemory || limits.memory_bytes > kMostBytes) {
    return impossible(fmt::format("memory {} is out of range: give 16m or more, for example 512m",
                                  format_byte_size(limits.memory_bytes)));
  }
  if (limits.millicpus < 10 || limits.millicpus > 1'000'000) {
    return impossible("cpus is out of range: give 0.01 or more, for example 1 or 0.5");
  }
  if (limits.processes < 1 || limits.processes > kMostProcesses) {
    return impossible(
        fmt::format("pids {} is out of range: a command needs at least 1, a shell a "
                    "few more; the default is 64",
                    limits.processes));
  }
  if (limits.disk_bytes < kLeastDisk || limits.disk_bytes > kMostBytes) {
    return impossible(fmt::format("disk {} is out of range: give 64k or more, for example 512m",
                                  format_byte_size(limits.disk_bytes)));
  }
  if (limits.open_files < 16 || limits.open_files > 1'000'000) {
    return impossible("open files is out of range: give 16 to 1000000, for example 1024");
  }
  if (limits.cpu_time < std::chrono::seconds(1) || limits.cpu_time > kLongest) {
    return impossible("cpu-time is out of range: give 1s or more, for example 60s");
  }
  return {};
}

Result<> check_limits(const ExecLimits& limits) {
  if (limits.timeout < std::chrono::milliseconds(1) || limits.timeout > kLongest) {
    return impossible("timeout is out of range: give 1ms to 365d, for example 30s");
  }
  if (limits.cpu_time < std::chrono::seconds(1) || limits.cpu_time > kLongest) {
    return impossible("cpu-time is out of range: give 1s or more, for example 60s");
  }
  if (limits.output_bytes < 1 || limits.output_bytes > kMostBytes) {
    return impossible("output-limit is out of range: give 1 byte or more, for example 64m");
  }
  return {};
}

}  // namespace nutshell
