// Compares the protections that a spec needs with those that a backend can keep, and reports all
// that are missing at once.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/protection.h"
#include "core/sandbox_spec.h"

namespace nutshell {

struct ProtectionRules {
  std::vector<std::string> waivable;  // those that --unsafe-without may name
  std::vector<std::string> optional;  // those that may be missing without a waiver
};

Result<> check_protections(const Protections& protections, const SandboxSpec& spec,
                           const ProtectionRules& rules);

}  // namespace nutshell
