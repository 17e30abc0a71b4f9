// Starts and stops the user's own daemon.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace nutshell::cli {

struct StartedDaemon {
  pid_t pid = 0;
  std::filesystem::path socket;
  bool ran_before = false;
};

// The path of nutshelld, beside this program.
Result<std::string> daemon_program();
// Starts it with these arguments and waits until it answers, unless one runs.
Result<StartedDaemon> start_daemon(const std::vector<std::string>& words);
// Waits for the requests that run; prints a line if no daemon runs.
Result<int> stop_daemon();

}  // namespace nutshell::cli
