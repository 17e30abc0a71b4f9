// Enforces a fraction of a core where there is no cgroup for it: looks every few milliseconds at
// the CPU time of the sandbox's processes, and halts all of them while it is more than their share.
// Debts are carried on, so the share holds on average whatever happens between two looks.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "base/deadline.h"
#include "init/exec/halt.h"
#include "init/exec/process_marks.h"

namespace nutshell::init {

class CpuWatch {
 public:
  // `cores` is the number of cores that the processes can use at once.
  CpuWatch(std::uint32_t millicpus, unsigned cores) : millicpus_(millicpus), cores_(cores) {}

  static constexpr std::chrono::milliseconds kInterval{10};

  [[nodiscard]] bool is_on() const { return millicpus_ > 0; }
  // Called before a process starts in a sandbox that may have had none.
  void begin(const ProcessMarks& marks);
  // When to look next; never while there is no process.
  [[nodiscard]] const Deadline& next_look() const { return next_look_; }
  void look(const ProcessMarks& marks, Halt& halt);
  // Whether the processes have used more than their share so far.
  [[nodiscard]] bool is_in_debt() const { return credit_ < Nanoseconds::zero(); }

 private:
  using Nanoseconds = std::chrono::nanoseconds;
  struct Use {
    Nanoseconds total{0};
    std::map<pid_t, Nanoseconds> by_process;  // only of processes that used any
    bool is_complete = true;                  // no process lived and died unseen
  };
  Use measure(const std::vector<pid_t>& pids, const ProcessMarks& marks);
  void charge(const Use& use);
  void hold(const Use& use, Halt& halt);
  [[nodiscard]] Nanoseconds share_of(Nanoseconds span) const;

  std::uint32_t millicpus_;
  unsigned cores_;
  Nanoseconds credit_{0};
  Nanoseconds stolen_{0};  // used although halted
  Clock::time_point last_look_;
  Deadline next_look_ = Deadline::never();
  std::map<pid_t, Nanoseconds> clocks_;  // CPU time of each process at the last look
  std::uint64_t last_pid_ = 0;
};

}  // namespace nutshell::init
