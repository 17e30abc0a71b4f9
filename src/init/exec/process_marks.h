// Which processes belong to which exec. Each exec's command starts with its number in a resource
// limit that the kernel keeps but does not use (RLIMIT_LOCKS; gVisor lets nobody set that one, and
// there it is RLIMIT_RSS); every descendant inherits it, whatever it does with sessions, parents or
// signals, and the payload's filter forbids changing it. So a whole tree can be found and killed
// with no cgroup, no helper process and no privilege.
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

  // Which limit it is in this kernel.
  enum class Place { Locks, Resident };
  [[nodiscard]] static Place place();

  // In the child, before exec. Async-signal-safe; returns errno or 0.
  static int put_on_self(Mark mark) noexcept;
  // Of a process that lives or waits to be reaped; zero if it has none.
  [[nodiscard]] static Mark of(pid_t pid);
  // Lives, and has no mark.
  [[nodiscard]] static bool is_outsider(pid_t pid);

  // Every live process but init that has this mark; with kAnyMark, all of
  // them but those of other users, who only pass through.
  static constexpr Mark kAnyMark = ~0ULL;
  [[nodiscard]] std::vector<pid_t> living(Mark mark) const;
  // Every process but init, also those that wait to be reaped.
  [[nodiscard]] std::vector<pid_t> all() const;

  void send_signal(Mark mark, int signal) const;
  // SIGKILL until nobody is left, faster than they can fork. Returns how many outlived `deadline`.
  std::size_t kill_all(Mark mark, const Deadline& deadline) const;

  // User and system time of those that live.
  [[nodiscard]] std::chrono::microseconds cpu_time(Mark mark) const;

  [[nodiscard]] int proc() const { return proc_.get(); }

 private:
  UniqueFd proc_;
};

}  // namespace nutshell::init
