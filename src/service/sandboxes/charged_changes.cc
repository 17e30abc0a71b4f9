#include "service/sandboxes/charged_changes.h"

namespace nutshell::service {
namespace {

// An answer needs each change three times: as it came, as JSON and as text.
constexpr std::uint64_t kBytesOfAChange = 3072;
constexpr std::uint64_t kMemoryForAByte = 6;

}  // namespace

Result<ChargedChanges> list_changes(Accounts& accounts, const std::string& tenant,
                                    wire::InitClient& client) {
  Charge charge = accounts.of(tenant, Resource::OutputMemory).take_anyway(0);
  auto changes =
      TRY(list_workspace_changes(client, [&](const wire::FileChange& change) -> Result<> {
        const std::uint64_t names =
            change.path.size() + change.before.target.size() + change.after.target.size();
        if (charge.grow(kBytesOfAChange + names * kMemoryForAByte)) return {};
        return accounts.refusal(tenant, Resource::OutputMemory);
      }));
  return ChargedChanges{std::move(changes), std::move(charge)};
}

}  // namespace nutshell::service
