#include "service/sandboxes/sandbox_network.h"

#include <nlohmann/json.hpp>

#include "core/json_form.h"
#include "runtime/network.h"
#include "service/tenants/allowed.h"

namespace nutshell::service {

Result<NetworkStatus> SandboxNetwork::status(const Caller& caller, const std::string& id) {
  const SandboxRef ref = TRY(uses_.table.find(caller.tenant, id));
  return status_or_none(uses_.runtime.network(ref.id));
}

Result<NetworkStatus> SandboxNetwork::set(const Caller& caller, const std::string& id,
                                          const NetworkPolicy& policy) {
  const SandboxRef ref = TRY(uses_.table.find(caller.tenant, id));
  const auto set_it = [&](Operation&) -> Result<NetworkStatus> {
    TRY(check_network_allowed(caller));
    return uses_.runtime.set_network(ref.id, policy);
  };
  std::string arguments = uses_.operations.describe_json(
      "policy", nlohmann::json(to_json(policy, Written::Shown)), ref.secrets);
  return uses_.operations.run(caller, {"set network", subject_of(ref), std::move(arguments)},
                              set_it);
}

Result<std::vector<NetworkEvent>> SandboxNetwork::events(const Caller& caller,
                                                         const std::string& id,
                                                         std::uint64_t after) {
  const SandboxRef ref = TRY(uses_.table.find(caller.tenant, id));
  return events_or_none(uses_.runtime.network_events(ref.id, after));
}

}  // namespace nutshell::service
