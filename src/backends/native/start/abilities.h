// Finds what this host allows, and from that the protections that a sandbox has.
#pragma once

#include "backends/native/cgroups/cgroup_host.h"
#include "backends/native/namespaces/privilege.h"
#include "core/protection.h"
#include "core/sandbox_spec.h"

namespace nutshell::native {

struct Abilities {
  Privilege privilege = Privilege::Rootless;
  CgroupHost cgroups;
  int landlock = 0;  // the version of Landlock; 0 if the kernel has none
  unsigned cores = 1;

  // Only looks, which is cheap enough for every start; host_trials.h tries.
  static Abilities find() { return find(find_privilege()); }
  static Abilities find(Privilege privilege);
};

// Returns all protections of a sandbox with this spec, each with its strength on this host.
Protections protections_for(const Abilities& abilities, const SandboxSpec& spec);

// Fails if this spec requires a protection that is missing or too weak; the error names all of
// them.
Result<> check_protections(const Protections& protections, const SandboxSpec& spec);

// Fails if this spec asks for what a sandbox cannot have here; else returns its protections.
Result<Protections> check_start(const Abilities& abilities, const SandboxSpec& spec);

// Whether the CPU limit is kept by pinning the sandbox to cores, for lack of a cgroup.
bool pins_cpus(const Abilities& abilities);

}  // namespace nutshell::native
