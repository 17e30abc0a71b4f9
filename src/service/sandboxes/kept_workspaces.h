// The files that sessions keep from one life to the next, on the host. What a sandbox gives is
// hostile: it is copied below a directory of its own, and read by nobody but the next sandbox of
// the same tenant and name; all that a tenant keeps is bounded. Thread-safe for different names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"
#include "service/state/named_locks.h"
#include "wire/init_client.h"

namespace nutshell::service {

class KeptWorkspaces {
 public:
  // `most_bytes`: what a tenant may keep in all.
  KeptWorkspaces(std::filesystem::path directory,
                 std::function<std::uint64_t(const std::string& tenant)> most_bytes)
      : directory_(std::move(directory)), most_bytes_(std::move(most_bytes)) {}

  // All of it replaces what was kept, or nothing does.
  Result<> save(const std::string& tenant, const std::string& name, wire::InitClient& client);
  // Nothing was kept: nothing is brought.
  Result<> restore(const std::string& tenant, const std::string& name, wire::InitClient& client);
  Result<> forget(const std::string& tenant, const std::string& name);

 private:
  [[nodiscard]] std::filesystem::path place_of(const std::string& tenant,
                                               const std::string& name) const;
  [[nodiscard]] std::uint64_t kept_besides(const std::string& tenant,
                                           const std::filesystem::path& place) const;
  Result<> fill(const std::filesystem::path& place, wire::InitClient& client,
                std::uint64_t most_bytes) const;

  std::filesystem::path directory_;
  std::function<std::uint64_t(const std::string& tenant)> most_bytes_;
  NamedLocks tenants_;  // one copies at a time, so that the sum holds
};

}  // namespace nutshell::service
