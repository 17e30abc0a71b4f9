// Execs as a caller of the service sees them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/exec.h"
#include "core/field.h"
#include "core/protection.h"
#include "core/tool.h"
#include "wire/tool_schema.h"

namespace nutshell::service {

// How much is reported about an exec besides its result.
enum class TraceLevel : std::uint8_t {
  Off,
  Summary,  // resources, and the limits that stopped it
  Files,    // also files of /workspace that it added, changed and removed
  Full,     // also hashes of its streams, and the protections in force
};

struct Trace {
  TraceLevel level = TraceLevel::Off;
  std::vector<wire::FileChange> files;  // against the state before the exec
  bool is_cut = false;                  // there were more files than are listed
  std::vector<std::string> blocked;     // what limits, timeouts or protections stopped
  std::string input_sha256;             // this and the following with Full
  std::string output_sha256;
  std::string error_sha256;
  Protections protections;
};

struct ExecOptions {
  TraceLevel trace = TraceLevel::Off;
  std::string idempotency_key;  // the same key gives the same exec; empty for none
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
  std::uint64_t output_bytes = 0;  // so far, readable from any offset
  std::uint64_t error_bytes = 0;
  std::optional<ExecResult> ending;  // nullopt while it runs
  std::uint64_t audit_id = 0;        // set with the ending
};

struct ExecOffsets {
  std::uint64_t output = 0;
  std::uint64_t error = 0;
};

// Refuses offsets behind the end of an exec that has ended.
Result<> check_offsets(const ExecOffsets& from, const ExecState& state);

struct ToolReply {
  ToolResult result;
  std::uint64_t audit_id = 0;
};

// An exec or tool call in the history of a sandbox.
struct HistoryEntry {
  std::uint64_t audit_id = 0;
  std::chrono::system_clock::time_point when;
  std::string who;
  std::string action;   // "exec", "tool bash"
  std::string what;     // the command, redacted
  std::string outcome;  // "exited 0", "timed_out"; "unknown" if the daemon died meanwhile
  std::chrono::milliseconds duration{0};
  std::uint64_t output_bytes = 0;
};

}  // namespace nutshell::service

template <>
inline constexpr std::array<std::string_view, 4> nutshell::kWords<nutshell::service::TraceLevel>{
    "off", "summary", "files", "full"};
