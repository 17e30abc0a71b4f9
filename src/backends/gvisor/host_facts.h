// The abilities of this host that gVisor uses, and the protections that follow from them.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "containers/container_layout.h"
#include "core/protection.h"
#include "core/sandbox_spec.h"

namespace nutshell::gvisor {

struct HostFacts {
  bool is_root = false;
  std::string cgroup;  // "cgroup v1", "cgroup v2"; empty: there is none to set limits in
  std::uint32_t cores = 1;
};
HostFacts read_host_facts();

// The file systems lie in gVisor's memory, so they are bounded by the memory limit too.
struct GvisorScratchSizes : containers::ScratchSizes {
  std::uint64_t kept = 0;  // the file system of kept states, in addition to the others
};
GvisorScratchSizes scratch_sizes_for(const Limits& limits);

// The number of cores that a sandbox without a cgroup is pinned to.
std::uint32_t whole_cores(const Limits& limits);
// Whether init has to keep the processor time below that, because there is no cgroup and the limit
// is not a whole number of cores.
bool is_cpu_watched(const HostFacts& facts, const Limits& limits);

Protections protections_for(const HostFacts& facts, const SandboxSpec& spec);
// Names everything that prevents a sandbox of this spec, in one error.
Result<> check_spec_here(const HostFacts& facts, const SandboxSpec& spec);

}  // namespace nutshell::gvisor
