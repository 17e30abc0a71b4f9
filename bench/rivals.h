// Rivals of our sandboxes: programs started without a sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace nutshell::bench {

using Arguments = std::vector<std::string>;

// Bubblewrap with every namespace, a read-only root and private /proc, /dev and /tmp: no limits, no
// system-call filter, no Landlock.
Arguments bubblewrap(const Arguments& command);
// Says what to install when it is missing.
Result<> check_bubblewrap();

// Spawned with nothing on its standard descriptors; fails unless it exits with 0.
Result<> run_to_end(const Arguments& arguments);

struct Captured {
  std::string output;
  std::string error;
};
// Spawned with two pipes, which are read to their ends.
Result<Captured> run_captured(const Arguments& arguments);

}  // namespace nutshell::bench
