// What stands between a spec and the protections that a backend can keep, all of it at once.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/protection.h"
#include "core/sandbox_spec.h"

namespace nutshell {

struct ProtectionRules {
  std::vector<std::string> waivable;  // that --unsafe-without may name
  std::vector<std::string> optional;  // whose absence needs no waiver: others say how they are kept
};

Result<> check_protections(const Protections& protections, const SandboxSpec& spec,
                           const ProtectionRules& rules);

}  // namespace nutshell
