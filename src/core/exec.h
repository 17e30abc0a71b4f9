// One command in a sandbox: the request, and the result.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/field.h"
#include "core/limits.h"

namespace nutshell {

enum class Outcome : std::uint8_t {
  Exited,       // by itself, with exit_code
  Signalled,    // by a signal that Nutshell did not send
  TimedOut,     // its wall clock or CPU time ran out; the whole tree was killed
  OutOfMemory,  // the kernel, or the watcher, killed it for memory
  OutputLimit,  // it wrote more than it may; the whole tree was killed
  Cancelled,    // the caller asked; the whole tree was killed
  Lost,         // the sandbox ended first; what the command did is unknown
};

template <>
inline constexpr std::array<std::string_view, 7> kWords<Outcome>{
    "exited", "signalled", "timed_out", "out_of_memory", "output_limit", "cancelled", "lost"};

constexpr std::string_view to_string(Outcome outcome) {
  return word_for(outcome);
}

enum class StandardInput : std::uint8_t { Empty, Streamed };
template <>
inline constexpr std::array<std::string_view, 2> kWords<StandardInput>{"empty", "streamed"};

enum class Terminal : std::uint8_t { None, Pty };
template <>
inline constexpr std::array<std::string_view, 2> kWords<Terminal>{"none", "pty"};

// How to treat a running exec when its connection is lost.
enum class OnDisconnect : std::uint8_t { Cancel, Keep };
template <>
inline constexpr std::array<std::string_view, 2> kWords<OnDisconnect>{"cancel", "keep"};

struct WindowSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;

  static constexpr NounInfo kNoun{"WindowSize", "The size of a terminal, in characters."};
  static void describe(auto&& field, auto& window) {
    field({.number = 1, .name = "rows", .help = "lines"}, window.rows);
    field({.number = 2, .name = "columns", .help = "characters in a line"}, window.columns);
  }
};

// Number 1 is the sandbox's id in the proto, where a request has no path.
struct ExecRequest {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string working_directory;
  StandardInput standard_input = StandardInput::Empty;
  Terminal terminal = Terminal::None;
  WindowSize window;
  OnDisconnect on_disconnect = OnDisconnect::Cancel;
  ExecLimits limits;

  static constexpr NounInfo kNoun{"ExecRequest", "One command to run in a sandbox."};
  static void describe(auto&& field, auto& request) {
    field({.number = 2,
           .name = "argv",
           .help = "the program and its arguments; no shell reads them",
           .presence = Presence::Required},
          request.argv);
    field({.number = 3,
           .name = "environment",
           .help = "variables on top of the sandbox's",
           .format = Format::Variables,
           .flag = "env",
           .is_secret = true},
          request.environment);
    field({.number = 4,
           .name = "working_directory",
           .help = "where it runs; empty: where the sandbox's commands run",
           .most = kMostPathBytes,
           .flag = "workdir"},
          request.working_directory);
    describe_embedded(field, request.limits);  // 6 to 8
    field({.number = 10,
           .name = "on_disconnect",
           .help = "what happens to a streamed command whose client hangs up; keep: it goes on, "
                   "and its output can be followed again"},
          request.on_disconnect);
    field({.number = 11,
           .name = "standard_input",
           .help = "whether the command reads input that its caller sends",
           .set_by = SetBy::Internal},
          request.standard_input);
    field({.number = 12,
           .name = "terminal",
           .help = "whether it runs at a terminal",
           .set_by = SetBy::Internal},
          request.terminal);
    field({.number = 13,
           .name = "window",
           .help = "size of that terminal",
           .set_by = SetBy::Internal},
          request.window);
  }
};

struct ExecResult {
  Outcome outcome = Outcome::Lost;
  int exit_code = 0;  // with Exited
  int signal = 0;     // with Signalled
  std::string detail;
  std::chrono::microseconds duration{0};
  std::chrono::microseconds cpu_time{0};
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  bool stdout_truncated = false;
  bool stderr_truncated = false;
  std::vector<std::string> refused_connections;
  std::uint64_t refused_connection_count = 0;

  static constexpr std::size_t kMostRefusals = 16;
  static constexpr NounInfo kNoun{"ExecResult", "How a command ended.", Direction::Given};
  static void describe(auto&& field, auto& result) {
    field({.number = 1,
           .name = "outcome",
           .help = "how it ended: by itself (exited), by a signal, or by one of its bounds",
           .presence = Presence::Required},
          result.outcome);
    field({.number = 2, .name = "exit_code", .help = "where it exited"},
          OnlyIf{result.exit_code, result.outcome == Outcome::Exited});
    field({.number = 3, .name = "signal", .help = "where a signal ended it"},
          OnlyIf{result.signal, result.outcome == Outcome::Signalled});
    field({.number = 6, .name = "duration_ms", .help = "from its start to its end"},
          result.duration);
    field({.number = 7, .name = "cpu_time_ms", .help = "CPU time, children included"},
          result.cpu_time);
    field({.number = 8,
           .name = "peak_memory_bytes",
           .help = "the largest resident set of any of its processes",
           .format = Format::Bytes},
          result.peak_memory_bytes);
    field({.number = 9,
           .name = "stdout_bytes",
           .help = "bytes written to stdout, also those that were cut",
           .format = Format::Bytes},
          result.stdout_bytes);
    field({.number = 10,
           .name = "stderr_bytes",
           .help = "bytes written to stderr, also those that were cut",
           .format = Format::Bytes},
          result.stderr_bytes);
    field({.number = 11, .name = "stdout_truncated", .help = "not all of stdout was passed on"},
          result.stdout_truncated);
    field({.number = 12, .name = "stderr_truncated", .help = "not all of stderr was passed on"},
          result.stderr_truncated);
    field({.number = 13,
           .name = "detail",
           .help = "one line more, where there is more to say",
           .presence = Presence::IfSet},
          result.detail);
    field({.number = 14,
           .name = "refused_connections",
           .help = "hosts that the network policy refused, and why; the first 16 different ones",
           .presence = Presence::IfSet},
          result.refused_connections);
    field({.number = 15,
           .name = "refused_connection_count",
           .help = "how many connections and look-ups of names it refused",
           .presence = Presence::IfSet},
          result.refused_connection_count);
  }
};

Result<> check_exec(const ExecRequest& request);

}  // namespace nutshell
