// Refuses network policies that this version does not keep.
#pragma once

#include "base/result.h"
#include "core/network_policy.h"

namespace nutshell {

// The rules themselves are read by nutshell-egress.
Result<> check_network(const NetworkPolicy& policy);

}  // namespace nutshell
