// The small system-call filter that init puts on commands and does not have itself; payload.seccomp
// explains its rules.
#pragma once

#include <linux/filter.h>

#include <span>

namespace nutshell {

enum class PayloadRules {
  Free,      // commands may choose among the sandbox's CPUs
  Pinned,    // the set of CPUs is the CPU limit: commands may not change it
  Watched,   // as Pinned, and init watches memory: commands may hold none that it cannot count
  Resident,  // as Free, where the marks of execs are in RLIMIT_RSS
};

std::span<const sock_filter> payload_filter(PayloadRules rules);

}  // namespace nutshell
