// Starts programs with posix_spawn, so that a caller with threads may do it too.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/result.h"

namespace nutshell {

// Values of a stream of a Command that are not descriptors.
inline constexpr int kNullDevice = -1;  // /dev/null
inline constexpr int kInherited = -2;   // the stream of the calling process

struct Command {
  // The program's name and its arguments, as it finds them in argv.
  std::vector<std::string> arguments;
  // The file to execute; empty: the first argument. A name without a slash is searched in PATH.
  std::filesystem::path program = {};
  int input = kNullDevice;
  int output = kInherited;
  int error = kInherited;
  int third = kInherited;                // the program's descriptor 3
  std::filesystem::path directory = {};  // empty: the caller's
  // A program in its own session does not get the signals of the caller's terminal.
  enum class Session { Same, Own } session = Session::Same;
  enum class Environment { Same, Empty } environment = Environment::Same;
  std::vector<std::string> variables = {};  // NAME=VALUE: added to it, or in place of one there
  // Descriptors above 3 that the caller inherited without close-on-exec.
  enum class OtherDescriptors { Kept, Closed } others = OtherDescriptors::Kept;
};

// The program starts with no signal blocked and with the default action for SIGPIPE, whatever the
// calling thread blocks and the process ignores: both outlast exec and would keep the program from
// being stopped. Other signals stay ignored, as under nohup.
Result<ChildProcess> spawn(const Command& command);

}  // namespace nutshell
