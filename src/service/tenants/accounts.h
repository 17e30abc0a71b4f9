// Counts how much each tenant holds of each resource: an account for each tenant, below one for the
// machine. Thread-safe. Tenants come from the operator's configuration, so none is ever removed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/account.h"
#include "base/guarded.h"
#include "base/result.h"
#include "core/limits.h"
#include "service/tenants/tenant_rules.h"

namespace nutshell::service {

class Accounts {
 public:
  explicit Accounts(const CurrentRules& rules);
  // Sets the new bounds after the rules were replaced.
  void follow_rules();

  // An empty tenant is the daemon itself, for its pools: bounded by the machine alone.
  Account& of(const std::string& tenant, Resource resource);
  // ResourceExhausted if there is too little left; the message says what to do.
  Result<Charge> take(const std::string& tenant, Resource resource, std::uint64_t amount);
  Failure refusal(const std::string& tenant, Resource resource);

  // Takes everything that a sandbox with these limits is charged for, or nothing.
  using Charges = std::vector<Charge>;
  Result<Charges> take_sandbox(const std::string& tenant, const Limits& limits,
                               std::uint64_t state_bytes);
  // Charges for a sandbox that exists already, also beyond the bounds.
  Charges take_sandbox_anyway(const std::string& tenant, const Limits& limits,
                              std::uint64_t state_bytes);

 private:
  [[nodiscard]] std::uint64_t most_of(const std::string& tenant, Resource resource) const;
  using Row = std::vector<std::unique_ptr<Account>>;  // one account for each resource
  const CurrentRules& rules_;
  Row machine_;
  Guarded<std::map<std::string, Row>> tenants_;
};

}  // namespace nutshell::service
