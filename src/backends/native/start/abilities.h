// What this host lets us do, and the protections a sandbox therefore has.
#pragma once

#include "backends/native/cgroups/cgroup_host.h"
#include "backends/native/namespaces/privilege.h"
#include "core/protection.h"
#include "core/sandbox_spec.h"

namespace nutshell::native {

struct Abilities {
  Privilege privilege = Privilege::Rootless;
  CgroupHost cgroups;
  int landlock = 0;  // its version
  unsigned cores = 1;

  // Looks, without trying: cheap enough for every start. The sandbox's start itself tries.
  static Abilities find() { return find(find_privilege()); }
  static Abilities find(Privilege privilege);
};

// All protections of a sandbox with this spec, each with its strength here.
Protections protections_for(const Abilities& abilities, const SandboxSpec& spec);

// All that stands against this spec, at once.
Result<> check_protections(const Protections& protections, const SandboxSpec& spec);

// A CPU limit that can only be kept by choosing cores.
bool pins_cpus(const Abilities& abilities);

}  // namespace nutshell::native
