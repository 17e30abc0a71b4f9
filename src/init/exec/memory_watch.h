// Enforces the memory limit where there is no cgroup for it: looks every few milliseconds at the
// memory of the sandbox's processes and scratch files. Between two looks a process can overshoot;
// so the limit is called "watched".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "init/exec/process_marks.h"

namespace nutshell::init {

class MemoryWatch {
 public:
  enum class Source {
    Processes,    // mapped pages and page tables of each, files in the scratch file systems, System
                  // V objects, and the most that sockets can hold
    WholeKernel,  // the kernel's totals, which in gVisor are of this sandbox alone
  };
  MemoryWatch(std::uint64_t limit_bytes, std::vector<std::string> scratch,
              Source source = Source::Processes)
      : limit_bytes_(limit_bytes), scratch_(std::move(scratch)), source_(source) {}

  static constexpr std::chrono::milliseconds kInterval{20};

  [[nodiscard]] bool is_on() const { return limit_bytes_ > 0; }
  [[nodiscard]] std::uint64_t limit_bytes() const { return limit_bytes_; }
  // Returns the bytes in use if they are over the limit, else 0.
  [[nodiscard]] std::uint64_t overuse(const ProcessMarks& marks) const;
  // Bytes in the scratch file systems, which count as memory under every backend.
  [[nodiscard]] std::uint64_t scratch_bytes() const;
  // Bytes of one process: the largest is killed first.
  [[nodiscard]] static std::uint64_t bytes_of(pid_t pid);

 private:
  std::uint64_t limit_bytes_;
  std::vector<std::string> scratch_;
  Source source_;
};

}  // namespace nutshell::init
