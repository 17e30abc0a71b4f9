// Reads from the host's kernel what its memory is used for.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/result.h"

namespace nutshell::bench {

// In KiB.
struct HostMemory {
  double available = 0;     // MemAvailable: everything counts, also what others do meanwhile
  double slab = 0;          // the kernel's objects: namespaces, mounts, sockets, groups
  double per_cpu = 0;       // counters the kernel keeps per core, mostly of cgroups and networks
  double kernel_stack = 0;  //
  double page_tables = 0;   //

  static Result<HostMemory> read();
  [[nodiscard]] double kernel() const { return slab + per_cpu + kernel_stack + page_tables; }
};

// Memory that is nobody else's, of all these processes together, in KiB.
Result<double> private_memory(const std::vector<pid_t>& processes);

}  // namespace nutshell::bench
