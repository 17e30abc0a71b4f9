// Questions about a spec that several steps of a start ask.
#pragma once

#include <algorithm>

#include "backends/native/start/abilities.h"
#include "core/sandbox_spec.h"

namespace nutshell::native {

inline bool is_waived(const SandboxSpec& spec, const char* protection) {
  return std::find(spec.unsafe_without.begin(), spec.unsafe_without.end(), protection) !=
         spec.unsafe_without.end();
}

inline bool is_without_landlock(const SandboxSpec& spec, const Abilities& abilities) {
  return abilities.landlock == 0 && is_waived(spec, "landlock");
}

inline bool has_network(const SandboxSpec& spec) {
  return mode_of(spec.network) != NetworkMode::None;
}

}  // namespace nutshell::native
