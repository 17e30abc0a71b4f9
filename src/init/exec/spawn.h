// Starts a command.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "init/exec/process_marks.h"

namespace nutshell::init {

struct SpawnPlan {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  int working_directory = -1;  // an open directory
  int standard_input = -1;
  int standard_output = -1;
  int standard_error = -1;
  bool is_terminal = false;  // standard_input is the slave side of a pty
  Mark mark = 0;
  std::chrono::seconds cpu_time{0};
  std::span<const sock_filter> filter;
  int memory_priority = -1;  // init's own oom_score_adj, open for writing
  int watch_sender = -1;     // of ConnectWatch
};

struct Spawned {
  pid_t pid = -1;
  int error_number = 0;             // why it did not start; 0 if it did
  bool has_failed_in_exec = false;  // execve failed, not a step before it
};

Spawned spawn(const SpawnPlan& plan);

}  // namespace nutshell::init
