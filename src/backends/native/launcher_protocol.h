// What a client and the launcher say to each other: one packet each way, descriptors beside it.
// The codec is the wire's; both sides are ours and run as the same user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/refusals.h"

namespace nutshell::native {

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
  Stats
};

struct LauncherRequest {
  Operation operation = Operation::List;
  std::string id;                   // with List: those after this one
  SandboxSpec spec;                 // with Start
  std::vector<std::string> layers;  // with Restack
  std::uint64_t left_ms = 0;        // with SetTimeLeft
  void fields(auto& visit) { visit(operation, id, spec, layers, left_ms); }
};

struct LauncherReply {
  std::uint8_t code = 0;  // of the error, if there is a message
  std::string message;
  std::string id;
  std::vector<SandboxStatus> sandboxes;  // with List
  std::uint8_t has_more = 0;
  std::uint8_t is_out_of_memory = 0;     // with Why
  std::vector<std::string> environment;  // with Environment
  SandboxStats stats;                    // with Stats
  Refusals refusals;                     // with Stats
  void fields(auto& visit) {
    visit(code, message, id, sandboxes, has_more, is_out_of_memory, environment, stats, refusals);
  }
};

}  // namespace nutshell::native
