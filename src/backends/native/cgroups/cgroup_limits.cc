#include "backends/native/cgroups/cgroup_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/file.h"

namespace nutshell::native {
namespace {

constexpr std::uint64_t kPeriodMicroseconds = 100'000;
constexpr const char* kV1Memory = "memory.limit_in_bytes";
constexpr const char* kV1MemoryAndSwap = "memory.memsw.limit_in_bytes";

bool is_missing(const Result<>& written) {
  return !written && written.error().code == ErrorCode::NotFound;
}

// The kernel refuses a limit of memory plus swap below the limit of memory alone, so the order of
// the two writes depends on whether the limit rises.
Result<> write_v1_memory(int directory, bool is_raised, const std::string& bytes) {
  if (!is_raised) TRY(write_value_at(directory, kV1Memory, bytes));
  auto with_swap = write_value_at(directory, kV1MemoryAndSwap, bytes);
  if (is_missing(with_swap)) {
    // The kernel does not count swap, so this group must not use it.
    TRY(write_value_at(directory, "memory.swappiness", "0"));
  } else {
    TRY(std::move(with_swap));
  }
  if (is_raised) TRY(write_value_at(directory, kV1Memory, bytes));
  return {};
}

// v1 counts the buffers of TCP connections apart from all other memory, and only if they have a
// limit of their own. Beyond it, senders wait; the machine's bound for all of TCP would come first
// otherwise, and slow down the host's connections too.
Result<> write_v1_tcp_memory(int directory, std::uint64_t bytes) {
  constexpr std::uint64_t kLeast = 4U << 20U;
  auto written = write_value_at(directory, "memory.kmem.tcp.limit_in_bytes",
                                std::to_string(std::max(bytes / 4, kLeast)));
  if (is_missing(written)) return {};
  return written;
}

Result<> write_v2_memory(int directory, const std::string& bytes) {
  TRY(write_value_at(directory, "memory.max", bytes));
  auto without_swap = write_value_at(directory, "memory.swap.max", "0");
  if (!is_missing(without_swap)) return without_swap;
  // Without the file the kernel does not count swap, which only matters if the host has swap.
  const std::string swaps = TRY(read_file("/proc/swaps"));
  if (std::count(swaps.begin(), swaps.end(), '\n') <= 1) return {};
  return failure(
      ErrorCode::Unsupported,
      "the host has swap, and its kernel does not count it (memory.swap.max is missing), so memory "
      "cannot be limited: turn swap off, or boot with swapaccount=1");
}

}  // namespace

Result<> write_memory_limit(const CgroupDirectory& directory, std::optional<std::uint64_t> present,
                            std::uint64_t bytes) {
  const std::string text = std::to_string(bytes);
  if (directory.version == CgroupVersion::V2) return write_v2_memory(directory.fd.get(), text);
  TRY(write_v1_memory(directory.fd.get(), present && bytes > *present, text));
  return write_v1_tcp_memory(directory.fd.get(), bytes);
}

Result<> write_process_limit(const CgroupDirectory& directory, std::uint64_t processes) {
  return write_value_at(directory.fd.get(), "pids.max", std::to_string(processes));
}

Result<> write_cpu_limit(const CgroupDirectory& directory, std::uint32_t millicpus) {
  const std::uint64_t quota = millicpus * kPeriodMicroseconds / 1000;
  if (directory.version == CgroupVersion::V2) {
    return write_value_at(directory.fd.get(), "cpu.max",
                          fmt::format("{} {}", quota, kPeriodMicroseconds));
  }
  auto written = write_value_at(directory.fd.get(), "cpu.cfs_quota_us", std::to_string(quota));
  if (written || written.error().code != ErrorCode::InvalidArgument) return written;
  // v1 refuses a quota above the parent's, and the parent's limit then holds.
  return lift_cpu_limit(directory);
}

Result<> lift_cpu_limit(const CgroupDirectory& directory) {
  const bool is_v2 = directory.version == CgroupVersion::V2;
  return write_value_at(directory.fd.get(), is_v2 ? "cpu.max" : "cpu.cfs_quota_us",
                        is_v2 ? "max" : "-1");
}

}  // namespace nutshell::native
