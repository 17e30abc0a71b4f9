// A sandbox's spec as the config.json of an OCI bundle. Every protection is asked for by name.
#pragma once

#include <string>
#include <vector>

#include "backends/gvisor/host_facts.h"
#include "core/sandbox_spec.h"

namespace nutshell::gvisor {

// Where our own things are in a sandbox.
inline constexpr const char* kInitProgram = "/.nutshell/bin/nutshell-init";
inline constexpr const char* kStoreDirectory = "/.nutshell/store";
inline constexpr const char* kSocketName = "@nutshell-init";
inline constexpr const char* kCgroupParent = "nutshell-gvisor";
// Whoever only passes through a sandbox to init: not its user, so that a command cannot end the
// connection it is watched by.
inline constexpr const char* kBridgeUser = "1001:1001";

// A path of the host, read-only in the sandbox.
struct SharedPath {
  std::string source;
  std::string target;
};

struct BundlePlan {
  std::string id;
  SandboxSpec spec;
  HostFacts host;
  std::string init_program;         // of the host
  std::vector<SharedPath> sharing;  // what the root is made of
};

// JSON.
std::string config_of(const BundlePlan& plan);

}  // namespace nutshell::gvisor
