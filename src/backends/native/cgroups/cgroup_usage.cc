// What a group uses: the reading half of Cgroup.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>

#include "backends/native/cgroups/cgroup.h"
#include "base/file.h"

namespace nutshell::native {
namespace {

constexpr std::string_view kOomKills = "oom_kill";

const char* oom_file(const CgroupDirectory& directory) {
  return directory.version == CgroupVersion::V2 ? "memory.events" : "memory.oom_control";
}

}  // namespace

Result<const CgroupDirectory*> Cgroup::need(bool CgroupRoles::*role) const {
  const auto* directory = directory_for(role);
  if (directory != nullptr) return directory;
  return failure(ErrorCode::Unsupported, "this host has no cgroup controller that counts this");
}

Result<UniqueFd> Cgroup::open_oom_events() const {
  const auto* memory = TRY(need(&CgroupRoles::memory));
  return open_at(memory->fd.get(), oom_file(*memory), O_RDONLY);
}

std::uint64_t Cgroup::parse_oom_kills(std::string_view text) {
  return number_behind(text, kOomKills);
}

Result<std::uint64_t> Cgroup::oom_kills_since_creation() const {
  const auto* memory = TRY(need(&CgroupRoles::memory));
  return read_number(memory->fd.get(), oom_file(*memory), kOomKills);
}

Result<std::uint64_t> Cgroup::oom_kills() const {
  return TRY(oom_kills_since_creation()) - oom_base_;
}

Result<std::uint64_t> Cgroup::memory_bytes() const {
  const auto* memory = TRY(need(&CgroupRoles::memory));
  const bool is_v2 = memory->version == CgroupVersion::V2;
  return read_number(memory->fd.get(), is_v2 ? "memory.current" : "memory.usage_in_bytes");
}

Result<std::uint64_t> Cgroup::peak_memory_bytes() const {
  const auto* memory = TRY(need(&CgroupRoles::memory));
  if (is_peak_stale_) {
    return failure(ErrorCode::Unsupported,
                   "this kernel cannot reset the peak of a recycled cgroup (Linux 6.12 can)");
  }
  if (!peak_file_) {
    const bool is_v2 = memory->version == CgroupVersion::V2;
    return read_number(memory->fd.get(), is_v2 ? "memory.peak" : "memory.max_usage_in_bytes");
  }
  std::array<char, 32> text{};
  const ssize_t size = ::pread(peak_file_.get(), text.data(), text.size(), 0);
  if (size < 0) return syscall_failure("read", "memory.peak");
  std::uint64_t bytes = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + size, bytes);
  if (parsed.ec != std::errc{}) return failure(ErrorCode::Internal, "memory.peak is no number");
  return bytes;
}

Result<std::chrono::microseconds> Cgroup::cpu_time_since_creation() const {
  const auto* directory = TRY(need(&CgroupRoles::cpu_time));
  if (directory->version == CgroupVersion::V2) {
    return std::chrono::microseconds(
        TRY(read_number(directory->fd.get(), "cpu.stat", "usage_usec")));
  }
  return std::chrono::microseconds(TRY(read_number(directory->fd.get(), "cpuacct.usage")) / 1000);
}

Result<std::chrono::microseconds> Cgroup::cpu_time() const {
  return TRY(cpu_time_since_creation()) - cpu_base_;
}

Result<std::uint32_t> Cgroup::process_count() const {
  if (const auto* pids = directory_for(&CgroupRoles::pids)) {
    return static_cast<std::uint32_t>(TRY(read_number(pids->fd.get(), "pids.current")));
  }
  if (directories_.empty()) return 0;
  const auto listed = TRY(list_processes(directories_.back().fd.get()));
  return static_cast<std::uint32_t>(listed.size());
}

}  // namespace nutshell::native
