// Bounds what a sandbox holds of kernel memory that the kernel counts for nobody, cgroup or not:
// TCP connections that wait to be accepted, answers that wait in netlink sockets, and file locks.
// Without a bound, a sandbox with a small memory limit could use up the host's memory this way.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/deadline.h"

namespace nutshell::init {

class KernelMemoryWatch {
 public:
  static constexpr std::uint64_t kMostSocketBytes = 64U << 20U;
  static constexpr std::uint64_t kMostLocks = 65'536;

  // Called when a process starts in a sandbox that may have had none.
  void begin();
  // Called when there is no process any more: nothing is held without one.
  void end() { next_look_ = Deadline::never(); }
  // When to look next; never while there is no process.
  [[nodiscard]] const Deadline& next_look() const { return next_look_; }
  // Returns what is beyond its bound, as words for a message; empty if nothing is.
  [[nodiscard]] std::string look();

 private:
  [[nodiscard]] bool has_kernel_grown();

  Deadline next_look_ = Deadline::never();
  std::uint64_t kernel_bytes_ = 0;  // of the machine; the least since locks were counted
};

// Estimates the bytes that sockets of this network namespace hold uncounted. May stop at `enough`.
std::uint64_t uncounted_socket_bytes(std::uint64_t enough);
// Counts POSIX file locks of this pid namespace, up to `enough`. It is slow, and holds up others
// that lock files meanwhile.
std::uint64_t count_file_locks(std::uint64_t enough);

}  // namespace nutshell::init
