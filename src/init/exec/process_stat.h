// Reads /proc/PID/stat.
#pragma once

#include <sys/types.h>

#include <optional>

namespace nutshell::init {

struct ProcessStat {
  char state = 'X';  // of its first thread: R, S, D, T, t, Z, X …
  pid_t parent = 0;
  long cpu_ticks = 0;  // user and system time, its own and of the children it has waited for
  long threads = 0;

  // A process looks dead if its first thread has ended while others run on.
  [[nodiscard]] bool is_dead() const { return state == 'X' || (state == 'Z' && threads <= 1); }
};

// `proc` is a descriptor of /proc; returns nullopt if the process is gone.
std::optional<ProcessStat> read_process_stat(int proc, pid_t pid);

}  // namespace nutshell::init
