// What an engine and its host can do, in its own words, and the protections that a sandbox on it
// therefore has.
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
  std::string runtime;                          // its default: "runc", "crun", "runsc"
  std::map<std::string, std::string> runtimes;  // names of those it has, and their programs
  std::string cgroup;                           // "cgroup v1"
  std::uint32_t cores = 1;
  bool has_memory = false;
  bool has_swap_limit = false;
  bool has_pids = false;
  bool has_cpu = false;
  bool has_seccomp = false;
  bool has_user_namespace = false;   // remapped, or rootless
  bool has_cgroup_namespace = true;  // each container, of its own
  bool is_rootless = false;
  std::string mandatory;  // "apparmor", "selinux"; empty: neither
};

Result<EngineFacts> read_engine_facts(EngineClient& engine);

// What this sandbox would run with.
std::string runtime_for(const EngineFacts& facts, const SandboxSpec& spec);
// Whether that is gVisor: a kernel of its own, whose threads and memory count beside the sandbox's.
bool is_gvisor(const EngineFacts& facts, const SandboxSpec& spec);

Protections protections_for(const EngineFacts& facts, const SandboxSpec& spec);
// All that stands against this spec, at once.
Result<> check_spec_here(const EngineFacts& facts, const SandboxSpec& spec);

}  // namespace nutshell::docker
