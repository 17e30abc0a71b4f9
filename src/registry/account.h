// The account at a registry that Docker's configuration names, itself or by a credential helper.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "registry/credential_program.h"

namespace nutshell::registry {

struct FoundAccount {
  std::string server;  // as the configuration spells it
  RegistryAccount account;
};

// `registry` is the name in an image's name; empty: Docker's own. Without an account, and without a
// configuration, the secret is empty.
Result<FoundAccount> find_account(const std::filesystem::path& docker_directory,
                                  const std::string& registry);

}  // namespace nutshell::registry
