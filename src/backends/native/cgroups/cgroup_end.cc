// How a group is stopped, emptied and made ready for the next sandbox: the ending half of Cgroup.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "backends/native/cgroups/cgroup.h"
#include "backends/native/cgroups/cgroup_limits.h"
#include "base/file.h"

namespace nutshell::native {
namespace {

// A group that is left by its last process keeps some pages: each CPU's reserve, the page cache.
constexpr std::uint64_t kMostLeftOver = 4ULL << 20U;
constexpr std::chrono::milliseconds kKernelKill{100};
constexpr std::chrono::milliseconds kFreezing{100};

}  // namespace

Result<> Cgroup::begin_freeze() {
  const auto* freezer = TRY(need(&CgroupRoles::freezer));
  was_frozen_ = true;  // also if the kernel gets no further than half-way
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
    (void)lift_cpu_limit(*cpu);  // else it ends more slowly
  }
  if (was_frozen_) (void)begin_thaw();  // recycle() thaws it again, and says if that fails
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
  // v2 since Linux 5.14: the kernel kills what is there and what is being forked, frozen or not.
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
      return failure(ErrorCode::DeadlineExceeded, "processes in it do not die");
    }
  }
  return {};
}

// Frozen processes neither fork nor end, so the list of them is whole. In v1 they die when thawed.
Result<> Cgroup::kill_round(const Deadline& deadline) {
  const auto* freezer = directory_for(&CgroupRoles::freezer);
  const auto* pids = directory_for(&CgroupRoles::pids);
  if (freezer != nullptr) {
    // A process in uninterruptible sleep may not freeze; then the next round finds what was forked.
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

// By the count where there is one: a zombie is in no list, but counts against the limit until its
// parent has seen it. Whoever is in one directory of the group is in all of them.
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
                   "there are still processes in it, alive or not waited for");
  }
  return {};
}

Result<> Cgroup::empty_memory(const Deadline& deadline) {
  const auto* memory = directory_for(&CgroupRoles::memory);
  Backoff backoff;
  for (;;) {
    const std::uint64_t left_over = TRY(memory_bytes());
    if (left_over <= kMostLeftOver) return {};
    // Both report failure if anything is left; what counts is how much. Stacks and tables of the
    // processes that were killed come back only after an RCU grace period.
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
    if (!file) return {};  // said when the peak is asked for
    peak_file_ = std::move(*file);
  }
  if (::pwrite(peak_file_.get(), "0", 1, 0) != 1) return syscall_failure("reset", "memory.peak");
  return {};
}

}  // namespace nutshell::native
