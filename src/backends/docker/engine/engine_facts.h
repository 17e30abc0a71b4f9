// The abilities of an engine and its host, and the protections of sandboxes that follow from them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "backends/docker/engine/engine_client.h"
#include "core/protection.h"
#include "core/sandbox_spec.h"

namespace nutshell::docker {

struct EngineFacts {
  std::string name;                             // "Docker 20.10.24", "podman 4.3.1"
  std::string runtime;                          // the default one: "runc", "crun", "runsc"
  std::map<std::string, std::string> runtimes;  // name → program
  std::string cgroup;                           // "cgroup v1"
  std::uint32_t cores = 1;
  bool has_memory = false;
  bool has_swap_limit = false;
  bool has_pids = false;
  bool has_cpu = false;
  bool has_seccomp = false;
  bool has_user_namespace = false;   // userns-remap, or a rootless engine
  bool has_cgroup_namespace = true;  // one for each container
  bool is_rootless = false;
  std::string mandatory;  // "apparmor", "selinux"; empty: neither
};

Result<EngineFacts> read_engine_facts(EngineClient& engine);

// The runtime that a sandbox of this spec uses.
std::string runtime_for(const EngineFacts& facts, const SandboxSpec& spec);
// Whether that runtime is gVisor, whose own threads and memory count too.
bool is_gvisor(const EngineFacts& facts, const SandboxSpec& spec);

Protections protections_for(const EngineFacts& facts, const SandboxSpec& spec);
// Names everything that prevents a sandbox of this spec, in one error.
Result<> check_spec_here(const EngineFacts& facts, const SandboxSpec& spec);

}  // namespace nutshell::docker
