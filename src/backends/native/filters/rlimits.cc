#include "backends/native/filters/rlimits.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>

namespace nutshell::native {
namespace {

struct Limit {
  __rlimit_resource resource;
  const char* name;
  rlim_t value;
};

// Never raises the limit: a value above the inherited hard limit is reduced to it.
Result<> set_limit(const Limit& limit) {
  rlimit current{};
  if (::getrlimit(limit.resource, &current) != 0) return syscall_failure("getrlimit", limit.name);
  const rlim_t value = std::min(limit.value, current.rlim_max);
  const rlimit wanted{value, value};
  if (::setrlimit(limit.resource, &wanted) != 0) return syscall_failure("setrlimit", limit.name);
  return {};
}

// Where core dumps go to a program (core_pattern begins with "|"), the kernel starts that program
// as the host's root for each crash, also with a limit of zero. Only a limit of one byte prevents
// it. The filter keeps commands from changing this limit.
Result<> forbid_core_dumps() {
  const rlimit one_byte{1, 1};
  if (::setrlimit(RLIMIT_CORE, &one_byte) == 0) return {};
  return set_limit({RLIMIT_CORE, "core size", 0});  // a plain user cannot raise a limit of zero
}

}  // namespace

Result<> apply_rlimits(const Limits& limits, MemoryLimiter limiter, Privilege privilege) {
  constexpr rlim_t kLockedMemory = 8U << 20U;
  // A little above the disk limit, so that a write fails with ENOSPC and not with SIGXFSZ.
  constexpr rlim_t kBeyondDisk = 1U << 20U;
  rlim_t locked = std::min<rlim_t>(kLockedMemory, limits.memory_bytes / 8);
  rlimit own{};
  if (::getrlimit(RLIMIT_MEMLOCK, &own) != 0) return syscall_failure("getrlimit", "locked memory");
  // The kernel compares it with what the user has locked in all programs, so half is left to them.
  if (privilege == Privilege::Rootless) locked = std::min(locked, own.rlim_cur / 2);
  const std::array<Limit, 7> list{{
      {RLIMIT_FSIZE, "file size", limits.disk_bytes + kBeyondDisk},
      {RLIMIT_CPU, "CPU time",
       static_cast<rlim_t>(std::chrono::ceil<std::chrono::seconds>(limits.cpu_time).count()) + 1},
      {RLIMIT_MEMLOCK, "locked memory", locked},
      {RLIMIT_NICE, "nice", 0},
      {RLIMIT_RTPRIO, "real-time priority", 0},
      {RLIMIT_MSGQUEUE, "message queues", 1U << 20U},
      {RLIMIT_SIGPENDING, "pending signals", 4096},
  }};
  for (const Limit& limit : list)
    TRY(set_limit(limit));
  TRY(forbid_core_dumps());
  if (limiter == MemoryLimiter::PerProcess)
    TRY(set_limit({RLIMIT_DATA, "data", limits.memory_bytes}));
  return {};
}

Result<> limit_processes(const Limits& limits) {
  return set_limit({RLIMIT_NPROC, "processes", limits.processes + 1ULL});  // init is one of them
}

std::uint64_t allowed_open_files(const Limits& limits, Privilege privilege) {
  const std::uint64_t usual = Limits().open_files;
  if (privilege == Privilege::Root || limits.open_files > usual) return limits.open_files;
  return std::min(limits.open_files, usual / 2);
}

Result<> limit_open_files(const Limits& limits, Privilege privilege) {
  return set_limit({RLIMIT_NOFILE, "open files", allowed_open_files(limits, privilege)});
}

Result<> check_rlimits(const Limits& limits) {
  rlimit current{};
  if (::getrlimit(RLIMIT_NOFILE, &current) != 0) return syscall_failure("getrlimit", "open files");
  if (limits.open_files > current.rlim_max) {
    return failure(
        ErrorCode::Unsupported,
        fmt::format("open files: this process may have at most {1} (ulimit -Hn), which is "
                    "less than {0}: ask for fewer, or raise the hard limit",
                    limits.open_files, current.rlim_max));
  }
  return {};
}

}  // namespace nutshell::native
