// The memory of one call that collects what a sandbox says: a tool call, a list of changes.
#pragma once

#include <string>

#include "service/tenants/accounts.h"
#include "tools/call_memory.h"

namespace nutshell::service {

// Charged to the tenant's output memory. ResourceExhausted if there is no room for any call.
Result<CallMemory> memory_for_call(Accounts& accounts, const std::string& tenant);

}  // namespace nutshell::service
