// Keeps the files of sessions on the host from one sandbox to the next. The files are hostile: each
// session has a directory of its own, which only the next sandbox of the same tenant and name
// reads. All that a tenant keeps is bounded. Thread-safe for different names.
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
  // `most_bytes` returns how much a tenant may keep in all.
  KeptWorkspaces(std::filesystem::path directory,
                 std::function<std::uint64_t(const std::string& tenant)> most_bytes)
      : directory_(std::move(directory)), most_bytes_(std::move(most_bytes)) {}

  // Replaces what was kept by the files of the sandbox; on failure what was kept stays.
  Result<> save(const std::string& tenant, const std::string& name, wire::InitClient& client);
  // Copies what was kept into the sandbox, if there is anything.
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
  NamedLocks tenants_;  // one save of a tenant at a time, so that the sum holds
};

}  // namespace nutshell::service
