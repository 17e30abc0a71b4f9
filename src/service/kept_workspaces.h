// The files that sessions keep from one life to the next, on the host. What a sandbox gives is
// hostile: it is copied below a directory of its own, and read by nobody but the next sandbox of
// the same tenant and name. Thread-safe for different names.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "wire/init_client.h"

namespace nutshell::service {

class KeptWorkspaces {
 public:
  explicit KeptWorkspaces(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // All of it replaces what was kept, or nothing does.
  Result<> save(const std::string& tenant, const std::string& name, wire::InitClient& client);
  // Nothing was kept: nothing is brought.
  Result<> restore(const std::string& tenant, const std::string& name, wire::InitClient& client);
  Result<> forget(const std::string& tenant, const std::string& name);

 private:
  [[nodiscard]] std::filesystem::path place_of(const std::string& tenant,
                                               const std::string& name) const;
  std::filesystem::path directory_;
};

}  // namespace nutshell::service
