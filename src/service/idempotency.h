// Keys that callers give to what creates, so that a repeated request makes nothing twice. They
// survive a restart, and are forgotten after a day. Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "service/database.h"
#include "service/named_locks.h"

namespace nutshell::service {

class Idempotency {
 public:
  explicit Idempotency(Database& database) : database_(database) {}

  // Nobody else does anything under this key meanwhile. An empty key is never taken.
  std::optional<NamedLocks::Lock> lock(const std::string& tenant, const std::string& key);
  // What the key was given for; nothing where it is new. Refused for another request.
  Result<std::optional<std::string>> find(const std::string& tenant, const std::string& key,
                                          const std::string& request);
  // Before the act.
  Result<> note(const std::string& tenant, const std::string& key, const std::string& request,
                const std::string& target);
  void forget(const std::string& tenant, const std::string& key);
  void forget_old();

 private:
  Database& database_;
  NamedLocks locks_;
};

}  // namespace nutshell::service
