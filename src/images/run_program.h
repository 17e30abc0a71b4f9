// Runs a program of this machine to its end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"

namespace nutshell::images {

struct Command {
  std::vector<std::string> words;  // the first is looked for in PATH
  std::filesystem::path directory;
  Deadline deadline;
};

// What it printed to standard output. Anything but status 0 is an error with the end of what it
// said on standard error.
Result<std::string> run_program(const Command& command);

}  // namespace nutshell::images
