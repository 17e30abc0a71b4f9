// What a client and the launcher say to each other: one packet each way, descriptors beside it.
// The codec is the wire's; both sides are ours and run as the same user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/refusals.h"
#include "wire/packed_spec.h"

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
  Stats,
  Release,
};

using wire::pack;
using wire::PackedSpec;
using wire::unpack;

struct LauncherRequest {
  Operation operation = Operation::List;
  std::string id;                   // with List: those after this one
  PackedSpec spec;                  // with Start
  std::vector<std::string> layers;  // with Restack
  std::uint64_t left_ms = 0;        // with SetTimeLeft
  // With Start: the sandbox ends with this connection, until Release comes on it.
  std::uint8_t ends_with_client = 0;
  void fields(auto& visit) { visit(operation, id, spec, layers, left_ms, ends_with_client); }
};

struct PackedStatus {
  std::string id;
  PackedSpec spec;
  std::uint8_t is_paused = 0;
  std::uint64_t age_ms = 0;
  std::uint64_t left_ms = 0;
  std::string why_copied;
  void fields(auto& visit) { visit(id, spec, is_paused, age_ms, left_ms, why_copied); }
};

// What is not counted is kNotCounted.
struct PackedStats {
  static constexpr std::uint64_t kNotCounted = UINT64_MAX;
  std::uint64_t memory_bytes = kNotCounted;
  std::uint64_t peak_memory_bytes = kNotCounted;
  std::uint64_t cpu_us = kNotCounted;
  std::uint64_t processes = kNotCounted;
  std::uint64_t memory_kills = kNotCounted;
  std::uint64_t unreachable = kNotCounted;
  std::uint32_t init = 0;  // its process, for whoever counts where no cgroup does
  void fields(auto& visit) {
    visit(memory_bytes, peak_memory_bytes, cpu_us, processes, memory_kills, unreachable, init);
  }
};

SandboxStats unpack(const PackedStats& packed);
Refusals unpack_refusals(const PackedStats& packed);

struct LauncherReply {
  std::uint8_t code = 0;  // of the error, if there is a message
  std::string message;
  std::string id;
  std::vector<PackedStatus> sandboxes;
  std::uint8_t has_more = 0;
  std::uint8_t is_out_of_memory = 0;     // with Why
  std::vector<std::string> environment;  // with Environment
  PackedStats stats;                     // with Stats
  void fields(auto& visit) {
    visit(code, message, id, sandboxes, has_more, is_out_of_memory, environment, stats);
  }
};

}  // namespace nutshell::native
