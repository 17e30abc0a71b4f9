// The list of what a sandbox changed in its workspace. The sandbox decides how long it is, so the
// memory for it is charged to the tenant.
#pragma once

#include <string>
#include <vector>

#include "runtime/workspace_changes.h"
#include "service/tenants/accounts.h"
#include "wire/init_client.h"

namespace nutshell::service {

struct ChargedChanges {
  std::vector<wire::FileChange> changes;
  Charge charge;  // for as long as they, and what is made of them for an answer, are held
};

// ResourceExhausted: the tenant has no memory for all of them.
Result<ChargedChanges> list_changes(Accounts& accounts, const std::string& tenant,
                                    wire::InitClient& client);

}  // namespace nutshell::service
