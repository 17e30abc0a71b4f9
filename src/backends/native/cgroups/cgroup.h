// One sandbox's group: a directory in each v1 hierarchy, or one v2 directory. On a host with v1
// controllers there is a v2 directory too, if it can be had: it freezes and kills better.
//
// A process that was forked from the owner must leave by _exit(2) or exec: the destructor would end
// the group under the owner's hands. Not thread-safe.
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
  // `name` is cgroup_owner_name() and a number: a sweep could not judge another.
  static Result<Cgroup> create(const CgroupHost& host, std::string name);
  // What is left of a group whose owner is gone; fails if nothing is.
  static Result<Cgroup> adopt(const CgroupHost& host, std::string name);

  Cgroup(Cgroup&& other) noexcept = default;
  Cgroup& operator=(Cgroup&&) = delete;
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup();  // as remove(), but what cannot be removed is left to the sweep

  [[nodiscard]] const std::string& name() const { return name_; }

  // Sets what the host has controllers for, and only what differs from what is set.
  Result<> apply(const Limits& limits);

  // For clone3(CLONE_INTO_CGROUP), by far the fastest way into a v2 group; -1 if this has none.
  [[nodiscard]] int clone_directory() const;
  // A process enters by writing "0" to each; they are open for writing only. Writing to v1 `tasks`
  // costs microseconds, to v2 `cgroup.procs` (the last, if there is a v2 directory) milliseconds.
  [[nodiscard]] std::span<const int> join_descriptors() const { return joins_; }
  // What is left to be written to by a child that was cloned into clone_directory().
  [[nodiscard]] std::span<const int> join_descriptors_after_clone() const;
  // All descriptors, from `least` on.
  Result<> renumber(int least);
  // Async-signal-safe. Returns 0 or the errno of the first that failed.
  static int join_by(std::span<const int> descriptors) noexcept;
  [[nodiscard]] Result<> join_self() const;

  // Its text has a line "oom_kill N", to be read anew by pread(2). N counts from the making of the
  // directory, recycling included: what was read first is the base.
  [[nodiscard]] Result<UniqueFd> open_oom_events() const;
  static std::uint64_t parse_oom_kills(std::string_view text);

  // All of these count from creation or the last recycling.
  [[nodiscard]] Result<std::uint64_t> oom_kills() const;
  [[nodiscard]] Result<std::uint64_t> peak_memory_bytes() const;
  [[nodiscard]] Result<std::chrono::microseconds> cpu_time() const;
  [[nodiscard]] Result<std::uint64_t> memory_bytes() const;
  [[nodiscard]] Result<std::uint32_t> process_count() const;  // with threads, as limits count

  // Ask the kernel to freeze or thaw the group, and return at once; is_frozen() tells when it has.
  Result<> begin_freeze();
  Result<> begin_thaw();
  [[nodiscard]] Result<bool> is_frozen() const;
  // Whether a process in it may have to wait long until it runs: it has less than one CPU, or is
  // frozen.
  [[nodiscard]] bool is_slowed() const { return was_frozen_ || millicpus_.value_or(0) < 1000; }
  // Lifts the CPU limit and thaws: a killed process that may not run cannot end either. The limit
  // is written again by the next apply().
  void let_killed_end();
  // Both wait until it is so. A frozen group can be killed.
  Result<> freeze(const Deadline& deadline);
  Result<> thaw(const Deadline& deadline);
  // Ends everything in the group, whatever forks meanwhile. The limits are to be applied again.
  Result<> kill_all(const Deadline& deadline);

  // Makes the empty group as new for the next sandbox; one that fails this must not be used again.
  Result<> recycle(const Deadline& deadline);
  // Kills what is left inside and removes the group.
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
  std::vector<int> joins_;  // of join_files_
  UniqueFd peak_file_;      // v2: a reset holds for reads through the same descriptor
  std::optional<std::uint64_t> memory_limit_;
  std::optional<std::uint32_t> process_limit_;
  std::optional<std::uint32_t> millicpus_;
  std::uint64_t oom_base_ = 0;
  std::chrono::microseconds cpu_base_{0};
  bool was_frozen_ = false;  // and not thawed since
  bool is_peak_stale_ = false;
};

}  // namespace nutshell::native
