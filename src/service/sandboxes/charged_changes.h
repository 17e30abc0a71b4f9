// The list of changed files of a workspace. The sandbox decides how long it is, so its memory is
// charged to the tenant.
#pragma once

#include <string>
#include <vector>

#include "runtime/workspace_changes.h"
#include "service/tenants/charged_call.h"
#include "wire/init_client.h"

namespace nutshell::service {

struct ChargedChanges {
  std::vector<wire::FileChange> changes;
  CallMemory memory;  // covers the answer that is made from the changes, too
};

// ResourceExhausted if the tenant has no memory left for all of them.
Result<ChargedChanges> list_changes(Accounts& accounts, const std::string& tenant,
                                    wire::InitClient& client);

}  // namespace nutshell::service
