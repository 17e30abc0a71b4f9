// The memory limit where there is no cgroup to enforce it: looks every few milliseconds at what
// the sandbox's processes and scratch files use. Between two looks a process can overshoot; the
// sandbox says so by calling the limit "watched".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "init/exec/process_marks.h"

namespace nutshell::init {

class MemoryWatch {
 public:
  enum class Sight {
    Processes,    // what each of them maps, what lies in the scratch file systems, in shared
                  // segments and, at most, in sockets
    WholeKernel,  // gVisor, whose totals are this sandbox's alone
  };
  MemoryWatch(std::uint64_t limit_bytes, std::vector<std::string> scratch,
              Sight sight = Sight::Processes)
      : limit_bytes_(limit_bytes), scratch_(std::move(scratch)), sight_(sight) {}

  static constexpr std::chrono::milliseconds kInterval{20};

  [[nodiscard]] bool is_on() const { return limit_bytes_ > 0; }
  [[nodiscard]] std::uint64_t limit_bytes() const { return limit_bytes_; }
  // Bytes in use, once they are over the limit; zero before.
  [[nodiscard]] std::uint64_t overuse(const ProcessMarks& marks) const;
  // Bytes in the scratch file systems: they count as memory under every backend.
  [[nodiscard]] std::uint64_t scratch_bytes() const;
  // Resident bytes of one process: who uses most is killed first.
  [[nodiscard]] static std::uint64_t resident_bytes(pid_t pid);

 private:
  std::uint64_t limit_bytes_;
  std::vector<std::string> scratch_;
  Sight sight_;
};

}  // namespace nutshell::init
