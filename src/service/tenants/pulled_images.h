// Images that engines pulled for tenants. Their disk space is charged to the tenant that asked
// first, until the operator removes the image. Thread-safe.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "base/guarded.h"
#include "core/image_holder.h"
#include "core/sandbox_spec.h"
#include "service/state/database.h"
#include "service/state/named_locks.h"
#include "service/tenants/accounts.h"

namespace nutshell::service {

class PulledImages {
 public:
  PulledImages(Database& database, Accounts& accounts, const CurrentRules& rules)
      : database_(database), accounts_(accounts), rules_(rules) {}

  Result<> load();
  // Pulls the spec's image if it is missing, and charges the tenant for it. ResourceExhausted if
  // the tenant has no room for it; the image is removed again then.
  Result<> ensure(const std::string& tenant, const SandboxSpec& spec, const std::string& backend,
                  ImageHolder& holder);

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // tenant, backend, image
  Result<> pull(const Key& key, PullAccount account, ImageHolder& holder);
  // PermissionDenied for a registry of this side's own network that the operator did not list.
  [[nodiscard]] Result<> check_registry(const std::string& tenant, const SandboxSpec& spec) const;
  // Gives back the charges of images that were removed.
  void forget_gone(const std::string& tenant, const std::string& backend, ImageHolder& holder);

  Database& database_;
  Accounts& accounts_;
  const CurrentRules& rules_;
  NamedLocks locks_;
  Guarded<std::map<Key, Charge>> charges_;
};

}  // namespace nutshell::service
