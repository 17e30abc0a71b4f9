// Execs as a caller of the service sees them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/exec.h"
#include "core/protection.h"
#include "core/tool.h"
#include "wire/tool_schema.h"

namespace nutshell::service {

// How much is found out about an exec besides its result.
enum class TraceLevel : std::uint8_t {
  Off,
  Summary,  // resources, and what stopped it
  Files,    // and which files of /workspace it added, changed and removed
  Full,     // and what went in and came out, by hash, and what was in force
};

struct Trace {
  TraceLevel level = TraceLevel::Off;
  std::vector<wire::FileChange> files;  // against the state before the exec
  bool is_cut = false;                  // there were more files than are told
  std::vector<std::string> blocked;     // what was stopped, and by what: limits, timeouts, memory
  std::string input_sha256;             // these with Full
  std::string output_sha256;
  std::string error_sha256;
  Protections protections;
};

struct ExecOptions {
  TraceLevel trace = TraceLevel::Off;
  std::string idempotency_key;  // the same key gives the same exec; empty: none
};

struct ExecReply {
  ExecResult result;
  std::uint64_t audit_id = 0;
  Trace trace;
};

// A detached exec goes on without its caller, and over a restart of the daemon.
struct ExecState {
  std::string exec_id;
  std::string sandbox_id;
  std::uint64_t output_bytes = 0;  // kept so far, to be read from any offset
  std::uint64_t error_bytes = 0;
  std::optional<ExecResult> ending;  // none: it still runs
  std::uint64_t audit_id = 0;        // with the ending
};

struct ExecOffsets {
  std::uint64_t output = 0;
  std::uint64_t error = 0;
};

// A place behind what was written is nobody's; of one that still runs the end is not known.
Result<> check_offsets(const ExecOffsets& from, const ExecState& state);

struct ToolReply {
  ToolResult result;
  std::uint64_t audit_id = 0;
};

// One exec of a sandbox's past.
struct HistoryEntry {
  std::uint64_t audit_id = 0;
  std::chrono::system_clock::time_point when;
  std::string who;
  std::string action;   // "exec", "tool bash"
  std::string what;     // the command, redacted
  std::string outcome;  // "exited 0", "timed-out"; "unknown": the daemon died under it
  std::chrono::milliseconds duration{0};
  std::uint64_t output_bytes = 0;
};

}  // namespace nutshell::service
