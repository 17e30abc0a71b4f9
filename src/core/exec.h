// One command in a sandbox: what is asked for, and the one way it ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/limits.h"

namespace nutshell {

enum class Outcome : std::uint8_t {
  Exited,       // by itself, with exit_code
  Signalled,    // by a signal that nobody of ours sent
  TimedOut,     // its wall clock or CPU time ran out; the whole tree was killed
  OutOfMemory,  // the kernel, or the watcher, killed it for memory
  OutputLimit,  // it wrote more than it may; the whole tree was killed
  Cancelled,    // the caller asked; the whole tree was killed
  Lost,         // the sandbox ended under it; what it did is unknown
};

std::string_view to_string(Outcome outcome);

enum class StandardInput : std::uint8_t { Empty, Streamed };
enum class Terminal : std::uint8_t { None, Pty };
// What happens to a running exec when its connection is lost.
enum class OnDisconnect : std::uint8_t { Cancel, Keep };

struct WindowSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
};

struct ExecRequest {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=VALUE, on top of the sandbox's
  std::string working_directory;         // empty: the sandbox's
  StandardInput standard_input = StandardInput::Empty;
  Terminal terminal = Terminal::None;
  WindowSize window;
  OnDisconnect on_disconnect = OnDisconnect::Cancel;
  ExecLimits limits;
};

struct ExecResult {
  Outcome outcome = Outcome::Lost;
  int exit_code = 0;   // with Exited
  int signal = 0;      // with Signalled
  std::string detail;  // one line more, where there is more to say
  std::chrono::microseconds duration{0};
  std::chrono::microseconds cpu_time{0};
  std::uint64_t peak_memory_bytes = 0;  // largest resident set of any of its processes
  std::uint64_t stdout_bytes = 0;       // as written, also what was cut
  std::uint64_t stderr_bytes = 0;
  bool stdout_truncated = false;
  bool stderr_truncated = false;
};

Result<> check_exec(const ExecRequest& request);

}  // namespace nutshell
