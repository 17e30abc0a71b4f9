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
  PulledImages(Database& database, Accounts& accounts) : database_(database), accounts_(accounts) {}

  Result<> load();
  // Pulls the image if it is missing, and charges the tenant for it. ResourceExhausted if the
  // tenant has no room for it; the image is removed again then.
  Result<> ensure(const std::string& tenant, const std::string& backend, const std::string& image,
                  ImageHolder& holder);

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // tenant, backend, image
  Result<> pull(const Key& key, ImageHolder& holder);
  // Gives back the charges of images that were removed.
  void forget_gone(const std::string& tenant, const std::string& backend, ImageHolder& holder);

  Database& database_;
  Accounts& accounts_;
  NamedLocks locks_;
  Guarded<std::map<Key, Charge>> charges_;
};

}  // namespace nutshell::service
