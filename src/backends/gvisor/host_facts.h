// What this host lets gVisor's sandboxes have, and the protections they therefore have.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "core/protection.h"
#include "core/sandbox_spec.h"

namespace nutshell::gvisor {

// What gVisor's own kernel may use beside the sandbox, and the threads it needs for that.
inline constexpr std::uint64_t kOwnMemory = 128ULL << 20U;
inline constexpr std::uint32_t kOwnThreads = 512;

struct HostFacts {
  bool is_root = false;
  std::string cgroup;  // "cgroup v1", "cgroup v2"; empty: none that limits could be set in
  std::uint32_t cores = 1;
};
HostFacts read_host_facts();

// How a disk limit is shared out: their sizes together are the limit.
struct ScratchSizes {
  std::uint64_t workspace = 0;
  std::uint64_t temporary = 0;
  std::uint64_t shared = 0;  // /dev/shm
  std::uint64_t kept = 0;    // of kept states, beside these
};
ScratchSizes scratch_sizes(const Limits& limits);

// Without a cgroup, as many cores as this are all it can reach.
std::uint32_t whole_cores(const Limits& limits);
// ... and init has to hold it below them.
bool is_cpu_watched(const HostFacts& facts, const Limits& limits);

Protections protections_for(const HostFacts& facts, const SandboxSpec& spec);
// All that stands against this spec, at once.
Result<> check_spec_here(const HostFacts& facts, const SandboxSpec& spec);

}  // namespace nutshell::gvisor
