#include "service/sandboxes/charged_changes.h"

namespace nutshell::service {

Result<ChargedChanges> list_changes(Accounts& accounts, const std::string& tenant,
                                    wire::InitClient& client) {
  ChargedChanges listed{{}, TRY(memory_for_call(accounts, tenant))};
  listed.changes = TRY(list_workspace_changes(client, charged_to(listed.memory)));
  return listed;
}

}  // namespace nutshell::service
