#include "backends/native/cgroups/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "backends/native/cgroups/cgroup_limits.h"
#include "backends/native/cgroups/cgroup_name.h"
#include "backends/native/cgroups/cgroup_v2_place.h"
#include "backends/native/processes/kept_descriptors.h"
#include "base/file.h"

namespace nutshell::native {
namespace {

// A sweep by another process may remove the empty parent between two attempts.
constexpr int kMostAttempts = 16;
constexpr std::chrono::milliseconds kPatienceOfDestructor{1000};
// A group without processes still holds some pages: the reserves of the CPUs, the page cache.
constexpr std::uint64_t kMostLeftOver = 4ULL << 20U;
constexpr std::chrono::milliseconds kKernelKill{100};
constexpr std::chrono::milliseconds kFreezing{100};
constexpr std::string_view kOomKills = "oom_kill";

std::string path_below_place(const std::string& name) {
  return fmt::format("{}/{}", kCgroupParent, name);
}

Result<> make_parent(const CgroupPlace& place) {
  if (::mkdirat(place.directory.get(), kCgroupParent, 0755) != 0 && errno != EEXIST) {
    return syscall_failure("mkdir", fmt::format("{}/{}", place.path, kCgroupParent));
  }
  return {};
}

bool has_controllers(const CgroupDirectory& directory) {
  const auto has = [&](const char* file) {
    return ::faccessat(directory.fd.get(), file, F_OK, 0) == 0;
  };
  return (!directory.roles.memory || has("memory.max")) &&
         (!directory.roles.pids || has("pids.max")) && (!directory.roles.cpu || has("cpu.max"));
}

// The parent directory may be new, or made by a process that needed fewer controllers.
Result<> pass_controllers_on(const CgroupPlace& place, const CgroupDirectory& directory) {
  if (has_controllers(directory)) return {};
  const UniqueFd parent =
      TRY(open_at(place.directory.get(), kCgroupParent, O_RDONLY | O_DIRECTORY));
  (void)enable_controllers(parent.get(), place.controllers);  // the next line looks at the result
  if (has_controllers(directory)) return {};
  return failure(
      ErrorCode::Unsupported,
      fmt::format("{}/{} cannot enable controllers for its children", place.path, kCgroupParent));
}

const char* oom_file(const CgroupDirectory& directory) {
  return directory.version == CgroupVersion::V2 ? "memory.events" : "memory.oom_control";
}

}  // namespace

Result<Cgroup> Cgroup::create(const CgroupHost& host, std::string name) {
  if (!parse_cgroup_name(name)) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("'{}' is not a cgroup name of this program", name));
  }
  if (host.places().empty()) return failure(ErrorCode::Unsupported, host.why_not());
  Cgroup cgroup(std::move(name));
  for (const auto& place : host.places())
    TRY(cgroup.add_directory(place));
  TRY(cgroup.open_joins());
  return cgroup;
}

Result<Cgroup> Cgroup::adopt(const CgroupHost& host, std::string name) {
  if (!parse_cgroup_name(name)) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("'{}' is not a cgroup name of this program", name));
  }
  const std::string path = path_below_place(name);
  Cgroup cgroup(std::move(name));
  for (const auto& place : host.places()) {
    auto fd = open_at(place.directory.get(), path.c_str(), O_RDONLY | O_DIRECTORY);
    if (fd) cgroup.directories_.push_back({place.version, place.roles, std::move(*fd)});
  }
  if (cgroup.directories_.empty()) return failure(ErrorCode::NotFound, "no cgroup " + cgroup.name_);
  return cgroup;
}

Cgroup::~Cgroup() {
  if (directories_.empty()) return;
  // A destructor cannot report an error. The next sweep finds the group by its owner and tries
  // again.
  (void)remove(Deadline::in(kPatienceOfDestructor));
}

Result<> Cgroup::add_directory(const CgroupPlace& place) {
  const std::string path = path_below_place(name_);
  int attempts = 0;
  while (::mkdirat(place.directory.get(), path.c_str(), 0755) != 0) {
    if (errno != ENOENT || ++attempts > kMostAttempts) {
      return syscall_failure("mkdir", fmt::format("{}/{}", place.path, path));
    }
    TRY(make_parent(place));
  }
  auto fd = open_at(place.directory.get(), path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!fd) {
    ::unlinkat(place.directory.get(), path.c_str(), AT_REMOVEDIR);
    return explain(std::move(fd).error());
  }
  directories_.push_back({place.version, place.roles, std::move(*fd)});
  if (place.version == CgroupVersion::V2) TRY(pass_controllers_on(place, directories_.back()));
  return {};
}

Result<> Cgroup::open_joins() {
  for (const auto& directory : directories_) {
    const char* file = directory.version == CgroupVersion::V2 ? "cgroup.procs" : "tasks";
    join_files_.push_back(TRY(open_at(directory.fd.get(), file, O_WRONLY)));
    joins_.push_back(join_files_.back().get());
  }
  return {};
}

Result<> Cgroup::renumber(int least) {
  for (CgroupDirectory& directory : directories_)
    TRY(native::renumber(directory.fd, least));
  joins_.clear();
  for (UniqueFd& file : join_files_) {
    TRY(native::renumber(file, least));
    joins_.push_back(file.get());
  }
  return native::renumber(peak_file_, least);
}

const CgroupDirectory* Cgroup::directory_for(bool CgroupRoles::*role) const {
  const auto found =
      std::find_if(directories_.begin(), directories_.end(),
                   [&](const CgroupDirectory& directory) { return directory.roles.*role; });
  return found == directories_.end() ? nullptr : &*found;
}

Result<const CgroupDirectory*> Cgroup::need(bool CgroupRoles::*role) const {
  const auto* directory = directory_for(role);
  if (directory != nullptr) return directory;
  return failure(ErrorCode::Unsupported, "this host has no cgroup controller that counts this");
}

Failure Cgroup::explain(Error error) const {
  return while_doing(fmt::format("cgroup {}", name_), std::move(error));
}

Result<> Cgroup::apply(const Limits& limits) {
  // Each remembered limit is reset before it is written: after a failed write the limit in force is
  // unknown.
  const auto* memory = directory_for(&CgroupRoles::memory);
  if (memory != nullptr && memory_limit_ != limits.memory_bytes) {
    const auto present = std::exchange(memory_limit_, std::nullopt);
    auto written = write_memory_limit(*memory, present, limits.memory_bytes);
    if (!written) return explain(std::move(written).error());
    memory_limit_ = limits.memory_bytes;
  }
  const auto* pids = directory_for(&CgroupRoles::pids);
  if (pids != nullptr && process_limit_ != limits.processes) {
    process_limit_.reset();
    auto written = write_process_limit(*pids, std::uint64_t{limits.processes} + 1);  // and init
    if (!written) return explain(std::move(written).error());
    process_limit_ = limits.processes;
  }
  const auto* cpu = directory_for(&CgroupRoles::cpu);
  if (cpu != nullptr && millicpus_ != limits.millicpus) {
    millicpus_.reset();
    auto written = write_cpu_limit(*cpu, limits.millicpus);
    if (!written) return explain(std::move(written).error());
    millicpus_ = limits.millicpus;
  }
  return {};
}

int Cgroup::clone_directory() const {
  if (directories_.empty() || directories_.back().version != CgroupVersion::V2) return -1;
  return directories_.back().fd.get();
}

std::span<const int> Cgroup::join_descriptors_after_clone() const {
  const std::span<const int> all = joins_;
  return clone_directory() < 0 ? all : all.first(all.size() - 1);
}

int Cgroup::join_by(std::span<const int> descriptors) noexcept {
  for (const int fd : descriptors) {
    if (::write(fd, "0", 1) != 1) return errno;
  }
  return 0;
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
  if (parsed.ec != std::errc{}) return failure(ErrorCode::Internal, "memory.peak holds no number");
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

Result<> Cgroup::begin_freeze() {
  const auto* freezer = TRY(need(&CgroupRoles::freezer));
  was_frozen_ = true;  // also if the kernel freezes only a part of the processes
  auto asked = request_state(*freezer, FreezerState::Frozen);
  if (!asked) return explain(std::move(asked).error());
  return {};
}

Result<> Cgroup::begin_thaw() {
  const auto* freezer = TRY(need(&CgroupRoles::freezer));
  auto asked = request_state(*freezer, FreezerState::Thawed);
  if (!asked) return explain(std::move(asked).error());
  was_frozen_ = false;
  return {};
}

Result<bool> Cgroup::is_frozen() const {
  return native::is_frozen(*TRY(need(&CgroupRoles::freezer)));
}

void Cgroup::let_killed_end() {
  const auto* cpu = directory_for(&CgroupRoles::cpu);
  if (cpu != nullptr) {
    millicpus_.reset();
    (void)lift_cpu_limit(*cpu);  // on failure the processes only end more slowly
  }
  if (was_frozen_) (void)begin_thaw();  // recycle() tries again and reports a failure
}

Result<> Cgroup::freeze(const Deadline& deadline) {
  const auto* freezer = TRY(need(&CgroupRoles::freezer));
  auto frozen = freeze_directory(*freezer, deadline);
  if (!frozen) return explain(std::move(frozen).error());
  was_frozen_ = true;
  return {};
}

Result<> Cgroup::thaw(const Deadline& deadline) {
  const auto* freezer = TRY(need(&CgroupRoles::freezer));
  auto thawed = thaw_directory(*freezer, deadline);
  if (!thawed) return explain(std::move(thawed).error());
  was_frozen_ = false;
  return {};
}

Result<bool> Cgroup::is_empty() const {
  for (const auto& directory : directories_) {
    if (TRY(has_processes(directory))) return false;
  }
  return true;
}

Result<bool> Cgroup::becomes_empty(const Deadline& deadline) const {
  Backoff backoff;
  while (!TRY(is_empty())) {
    if (!backoff.wait(deadline)) return false;
  }
  return true;
}

Result<> Cgroup::kill_all(const Deadline& deadline) {
  auto killed = kill_directories(deadline);
  if (killed && was_frozen_) killed = thaw(deadline);
  if (!killed) return explain(std::move(killed).error());
  return {};
}

Result<> Cgroup::kill_directories(const Deadline& deadline) {
  // v2 since Linux 5.14: the kernel kills all processes, also frozen ones and those just forked.
  const int v2 = clone_directory();
  if (v2 >= 0 && write_value_at(v2, "cgroup.kill", "1") &&
      TRY(becomes_empty(earlier(deadline, Deadline::in(kKernelKill))))) {
    return {};
  }
  Backoff backoff;
  while (!TRY(is_empty())) {
    TRY(kill_round(deadline));
    if (TRY(is_empty())) return {};
    if (!backoff.wait(deadline)) {
      return failure(ErrorCode::DeadlineExceeded, "its processes were killed and have not ended");
    }
  }
  return {};
}

// Frozen processes neither fork nor end, so their list is complete. In v1 they die when thawed.
Result<> Cgroup::kill_round(const Deadline& deadline) {
  const auto* freezer = directory_for(&CgroupRoles::freezer);
  const auto* pids = directory_for(&CgroupRoles::pids);
  if (freezer != nullptr) {
    // A process in uninterruptible sleep may not freeze; the next round finds what it has forked.
    (void)freeze_directory(*freezer, earlier(deadline, Deadline::in(kFreezing)));
  } else if (pids != nullptr) {
    process_limit_.reset();
    TRY(write_process_limit(*pids, 0));
  }
  Result<> killed;
  for (const auto& directory : directories_) {
    if (killed) killed = kill_listed_processes(directory.fd.get());
  }
  if (freezer != nullptr) {
    TRY(thaw_directory(*freezer, Deadline::in(kFreezing)));
    was_frozen_ = false;
  }
  return killed;
}

Result<> Cgroup::recycle(const Deadline& deadline) {
  auto recycled = recycle_directories(deadline);
  if (!recycled) return explain(std::move(recycled).error());
  return {};
}

Result<> Cgroup::recycle_directories(const Deadline& deadline) {
  TRY(wait_until_left(deadline));
  for (const auto& directory : directories_) {
    for (const auto& child : TRY(child_cgroups(directory.fd.get()))) {
      TRY(remove_directory(directory.fd.get(), child, deadline));
    }
  }
  if (was_frozen_) TRY(thaw(deadline));
  if (directory_for(&CgroupRoles::memory) != nullptr) {
    TRY(empty_memory(deadline));
    TRY(reset_peak());
    oom_base_ = TRY(oom_kills_since_creation());
  }
  if (directory_for(&CgroupRoles::cpu_time) != nullptr) cpu_base_ = TRY(cpu_time_since_creation());
  return {};
}

// Looks at the pids controller's count where there is one: a zombie is in no list of processes, but
// counts against the limit until its parent reaps it. A process in one directory of the group is in
// all of them.
Result<> Cgroup::wait_until_left(const Deadline& deadline) const {
  const auto* pids = directory_for(&CgroupRoles::pids);
  if (pids == nullptr) {
    if (TRY(becomes_empty(deadline))) return {};
    return failure(ErrorCode::DeadlineExceeded, "there are still processes in it");
  }
  Backoff backoff;
  while (TRY(read_number(pids->fd.get(), "pids.current")) != 0) {
    if (backoff.wait(deadline)) continue;
    return failure(ErrorCode::DeadlineExceeded,
                   "there are still processes in it, alive or not reaped yet");
  }
  return {};
}

Result<> Cgroup::empty_memory(const Deadline& deadline) {
  const auto* memory = directory_for(&CgroupRoles::memory);
  Backoff backoff;
  for (;;) {
    const std::uint64_t left_over = TRY(memory_bytes());
    if (left_over <= kMostLeftOver) return {};
    // Both writes fail if any page is left, so their results say nothing. The kernel frees stacks
    // and page tables of killed processes only after an RCU grace period.
    if (memory->version == CgroupVersion::V2) {
      (void)write_value_at(memory->fd.get(), "memory.reclaim", std::to_string(left_over));
    } else {
      (void)write_value_at(memory->fd.get(), "memory.force_empty", "0");
    }
    if (backoff.wait(deadline)) continue;
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("{} bytes are still charged to it", left_over));
  }
}

Result<> Cgroup::reset_peak() {
  const auto* memory = directory_for(&CgroupRoles::memory);
  if (memory->version == CgroupVersion::V1) {
    return write_value_at(memory->fd.get(), "memory.max_usage_in_bytes", "0");
  }
  if (!peak_file_) {
    auto file = open_at(memory->fd.get(), "memory.peak", O_RDWR);
    is_peak_stale_ = !file;
    if (!file) return {};  // peak_memory_bytes() reports it
    peak_file_ = std::move(*file);
  }
  if (::pwrite(peak_file_.get(), "0", 1, 0) != 1) return syscall_failure("reset", "memory.peak");
  return {};
}

Result<> Cgroup::remove(const Deadline& deadline) {
  const std::string path = "../" + name_;  // relative: the CgroupHost may be gone
  const auto remove_at_once = [&](const CgroupDirectory& directory) {
    return ::unlinkat(directory.fd.get(), path.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
  };
  std::erase_if(directories_, remove_at_once);
  if (directories_.empty()) return {};
  auto killed = kill_directories(deadline);
  for (const auto& directory : directories_) {
    auto removed = remove_directory(directory.fd.get(), path, deadline);
    if (!removed && killed) killed = std::move(removed);
  }
  if (!killed) return explain(std::move(killed).error());
  directories_.clear();
  return {};
}

}  // namespace nutshell::native
