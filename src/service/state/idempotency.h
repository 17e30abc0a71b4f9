// Idempotency keys of requests that create something: a repeated request gets what the first one
// made. Keys survive a restart. They are forgotten after a day, or when a tenant has too many.
// Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/guarded.h"
#include "service/state/database.h"
#include "service/state/named_locks.h"

namespace nutshell::service {

class Idempotency {
 public:
  using Most = std::function<std::uint64_t(const std::string& tenant)>;
  Idempotency(Database& database, Most most) : database_(database), most_(std::move(most)) {}

  // Locks the key against requests with the same key; nullopt for an empty key.
  std::optional<NamedLocks::Lock> lock(const std::string& tenant, const std::string& key);
  // The target that the key was noted with; nullopt for a new key. AlreadyExists if the key belongs
  // to another request.
  Result<std::optional<std::string>> find(const std::string& tenant, const std::string& key,
                                          const std::string& request);
  // Called before the target is made.
  Result<> note(const std::string& tenant, const std::string& key, const std::string& request,
                const std::string& target);
  void forget(const std::string& tenant, const std::string& key);
  void forget_old();

 private:
  // Removes the tenant's oldest keys above its bound.
  void make_room(const std::string& tenant);

  Database& database_;
  Most most_;
  Guarded<std::map<std::string, std::uint64_t>> noted_;  // by tenant, since the start
  NamedLocks locks_;
};

}  // namespace nutshell::service
