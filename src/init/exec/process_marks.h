// Finds the processes of an exec. Each exec's command starts with its number in a resource limit
// that the kernel keeps but does not use (RLIMIT_LOCKS; in gVisor, which does not allow to set
// that, RLIMIT_RSS). Every descendant inherits it, whatever it does with sessions, parents or
// signals, and the payload's filter forbids changing it. So a whole tree can be found and killed
// with no cgroup, no second process and no privilege.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "base/unique_fd.h"

namespace nutshell::init {

using Mark = std::uint64_t;

class ProcessMarks {
 public:
  ProcessMarks();  // keeps /proc open

  // The resource limit that holds the mark in this kernel.
  enum class Place { Locks, Resident };
  [[nodiscard]] static Place place();

  // Called in the child, before exec. Async-signal-safe; returns errno or 0.
  static int put_on_self(Mark mark) noexcept;
  // The mark of a process that lives or waits to be reaped; zero if it has none.
  [[nodiscard]] static Mark of(pid_t pid);
  // Whether the process lives, and has no mark.
  [[nodiscard]] static bool is_outsider(pid_t pid);

  // Returns all live processes but init that have this mark; with kAnyMark, all but those of other
  // users, which are bridges from outside.
  static constexpr Mark kAnyMark = ~0ULL;
  [[nodiscard]] std::vector<pid_t> living(Mark mark) const;
  // Returns all processes but init, also those that wait to be reaped.
  [[nodiscard]] std::vector<pid_t> all() const;

  void send_signal(Mark mark, int signal) const;
  // Kills until none is left, faster than they can fork. Returns how many outlived `deadline`.
  std::size_t kill_all(Mark mark, const Deadline& deadline) const;

  // User and system time of the live processes.
  [[nodiscard]] std::chrono::microseconds cpu_time(Mark mark) const;

  [[nodiscard]] int proc() const { return proc_.get(); }

 private:
  UniqueFd proc_;
};

}  // namespace nutshell::init
