// Messages between a client and the launcher: one packet each way, descriptors beside it, encoded
// by wire/codec.h. Both sides are our programs and run as the same user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/refusals.h"
#include "saved/saved_workspaces.h"

namespace nutshell::native {

inline constexpr char kIdLetter = 'n';  // which ids of native sandboxes begin with

enum class Operation : std::uint8_t {
  Start = 1,
  Connect,
  Stop,
  List,
  Pause,
  Resume,
  Why,
  Restack,
  Environment,
  SetTimeLeft,
  Stats,
  Release,
};

struct LauncherRequest {
  Operation operation = Operation::List;
  std::string id;                   // of the sandbox; with List: list the ids after this one
  SandboxSpec spec;                 // with Start
  std::vector<std::string> layers;  // with Restack
  std::uint64_t left_ms = 0;        // with SetTimeLeft
  // With Start: the sandbox ends with this connection, unless Release comes on it first.
  std::uint8_t ends_with_client = 0;
  // With Start: for one command of this client. The sandbox ends with this connection or with its
  // first stream, which comes with the answer, and is not listed. Refused unless the client's
  // circumstances and launcher program are the launcher's own (circumstances.h).
  std::uint8_t is_one_shot = 0;
  std::string circumstances;
  std::string program;
  // With Start: how long the launcher stays once it has no sandbox.
  std::uint64_t linger_ms = 0;
  // With Start: where the changes of its workspace are saved at its end; empty: they are not.
  std::string saved_in;
  saved::Bounds saved_bounds;
  // With Start: the file to which its caches are saved at its end; empty: they are not.
  std::string caches_in;
  saved::Bounds caches_bounds;
  void fields(auto& visit) {
    visit(operation, id, spec, layers, left_ms, ends_with_client, is_one_shot, circumstances,
          program, linger_ms, saved_in, saved_bounds, caches_in, caches_bounds);
  }
};

struct LauncherReply {
  ErrorCode code = ErrorCode::Internal;  // the request succeeded if the message is empty
  std::string message;
  std::string id;
  std::vector<SandboxStatus> sandboxes;  // with List
  std::uint8_t has_more = 0;
  std::uint8_t is_out_of_memory = 0;     // with Why
  std::vector<std::string> environment;  // with Environment
  SandboxStats stats;                    // with Stats
  Refusals refusals;                     // with Stats
  std::uint32_t init = 0;  // with Stats: its pid, for counting CPU time without a cgroup
  void fields(auto& visit) {
    visit(code, message, id, sandboxes, has_more, is_out_of_memory, environment, stats, refusals,
          init);
  }
};

}  // namespace nutshell::native
