// The cgroup of one sandbox: a directory in each v1 hierarchy, or one v2 directory. On a host with
// v1 controllers it also has a v2 directory if this process may make one, because v2 freezes and
// kills better.
//
// A process forked from the owner must leave by _exit(2) or exec: running the destructor would end
// the group while the owner still uses it. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/native/cgroups/cgroup_directory.h"
#include "backends/native/cgroups/cgroup_host.h"
#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/limits.h"

namespace nutshell::native {

// All groups are made in a directory of this name.
inline constexpr const char* kCgroupParent = "nutshell";

class Cgroup {
 public:
  // `name` is cgroup_owner_name(), a dot and a number: a sweep reads the owner from it.
  static Result<Cgroup> create(const CgroupHost& host, std::string name);
  // Takes over what is left of a group whose owner has died. NotFound if nothing is left.
  static Result<Cgroup> adopt(const CgroupHost& host, std::string name);

  Cgroup(Cgroup&& other) noexcept = default;
  Cgroup& operator=(Cgroup&&) = delete;
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup();  // calls remove(); leaves what it cannot remove to a sweep

  [[nodiscard]] const std::string& name() const { return name_; }

  // Writes each limit that the host has a controller for, unless it is in force already.
  Result<> apply(const Limits& limits);

  // For clone3(CLONE_INTO_CGROUP), by far the fastest way into a v2 group; -1 without a v2
  // directory.
  [[nodiscard]] int clone_directory() const;
  // A process enters the group by writing "0" to each of these write-only descriptors. Writing to
  // v1 `tasks` takes microseconds, to v2 `cgroup.procs` (the last one, if there is a v2 directory)
  // milliseconds.
  [[nodiscard]] std::span<const int> join_descriptors() const { return joins_; }
  // The same without the v2 descriptor, for a child that was cloned into clone_directory().
  [[nodiscard]] std::span<const int> join_descriptors_after_clone() const;
  // Moves all descriptors to numbers from `least` on.
  Result<> renumber(int least);
  // Async-signal-safe. Returns 0, or the errno of the first write that failed.
  static int join_by(std::span<const int> descriptors) noexcept;

  // Opens a file with a line "oom_kill N"; pread(2) reads the present N. The kernel counts N from
  // the creation of the directory and does not reset it when the group is recycled, so the reader
  // subtracts what it read first.
  [[nodiscard]] Result<UniqueFd> open_oom_events() const;
  static std::uint64_t parse_oom_kills(std::string_view text);

  // These count from creation or from the last recycle().
  [[nodiscard]] Result<std::uint64_t> oom_kills() const;
  [[nodiscard]] Result<std::uint64_t> peak_memory_bytes() const;
  [[nodiscard]] Result<std::chrono::microseconds> cpu_time() const;
  [[nodiscard]] Result<std::uint64_t> memory_bytes() const;
  [[nodiscard]] Result<std::uint32_t> process_count() const;  // threads included, as in the limit

  // Ask the kernel to freeze or thaw the group and return at once; is_frozen() tells whether it is
  // done.
  Result<> begin_freeze();
  Result<> begin_thaw();
  [[nodiscard]] Result<bool> is_frozen() const;
  // Whether a process in the group may have to wait long until it runs: the group has less than one
  // CPU, or is frozen.
  [[nodiscard]] bool is_slowed() const { return was_frozen_ || millicpus_.value_or(0) < 1000; }
  // Lifts the CPU limit and thaws the group, because a killed process must run to end. The next
  // apply() writes the limit again.
  void let_killed_end();
  // Both wait until the group is frozen or thawed. A frozen group can be killed.
  Result<> freeze(const Deadline& deadline);
  Result<> thaw(const Deadline& deadline);
  // Kills every process in the group, also those that are forked meanwhile. The caller has to apply
  // the limits again.
  Result<> kill_all(const Deadline& deadline);

  // Prepares the empty group for the next sandbox: frees its memory and resets its counters. After
  // an error the group must not be used again.
  Result<> recycle(const Deadline& deadline);
  // Kills the processes that are left and removes the group.
  Result<> remove(const Deadline& deadline);

 private:
  explicit Cgroup(std::string name) : name_(std::move(name)) {}

  Result<> add_directory(const CgroupPlace& place);
  Result<> open_joins();
  [[nodiscard]] const CgroupDirectory* directory_for(bool CgroupRoles::*role) const;
  [[nodiscard]] Result<const CgroupDirectory*> need(bool CgroupRoles::*role) const;
  [[nodiscard]] Failure explain(Error error) const;
  [[nodiscard]] Result<bool> is_empty() const;
  [[nodiscard]] Result<bool> becomes_empty(const Deadline& deadline) const;
  [[nodiscard]] Result<std::uint64_t> oom_kills_since_creation() const;
  [[nodiscard]] Result<std::chrono::microseconds> cpu_time_since_creation() const;
  Result<> kill_directories(const Deadline& deadline);
  Result<> kill_round(const Deadline& deadline);
  Result<> recycle_directories(const Deadline& deadline);
  [[nodiscard]] Result<> wait_until_left(const Deadline& deadline) const;
  Result<> empty_memory(const Deadline& deadline);
  Result<> reset_peak();

  std::string name_;
  std::vector<CgroupDirectory> directories_;  // in the order of CgroupHost::places
  std::vector<UniqueFd> join_files_;
  std::vector<int> joins_;  // the numbers of join_files_
  UniqueFd peak_file_;      // v2: a reset only affects reads through the same descriptor
  std::optional<std::uint64_t> memory_limit_;
  std::optional<std::uint32_t> process_limit_;
  std::optional<std::uint32_t> millicpus_;
  std::uint64_t oom_base_ = 0;
  std::chrono::microseconds cpu_base_{0};
  bool was_frozen_ = false;     // and not thawed since
  bool is_peak_stale_ = false;  // the kernel could not reset the peak at the last recycle()
};

}  // namespace nutshell::native
