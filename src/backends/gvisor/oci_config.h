// Writes a sandbox's spec as the config.json of an OCI bundle. It asks for every protection by
// name.
#pragma once

#include <string>
#include <vector>

#include "backends/gvisor/host_facts.h"
#include "core/sandbox_spec.h"

namespace nutshell::gvisor {

inline constexpr const char* kCgroupParent = "nutshell-gvisor";

// A path of the host that is mounted read-only in the sandbox.
struct SharedPath {
  std::string source;
  std::string target;
};

struct BundlePlan {
  std::string id;
  SandboxSpec spec;
  HostFacts host;
  std::string init_program;         // its path on the host
  std::vector<SharedPath> sharing;  // mounts that make up the root
};

// Returns JSON.
std::string config_of(const BundlePlan& plan);

}  // namespace nutshell::gvisor
