// Asks the credential helper that Docker's configuration names, docker-credential-NAME, for the
// account at a registry.
#pragma once

#include <string>

#include "base/result.h"

namespace nutshell::registry {

struct RegistryAccount {
  std::string user;    // kTokenUser if the secret is an identity token
  std::string secret;  // empty if there is none for that server
};

inline constexpr const char* kTokenUser = "<token>";

// Runs `docker-credential-NAME get` from the PATH, with the server's address on its standard input.
Result<RegistryAccount> ask_credential_program(const std::string& name, const std::string& server);

}  // namespace nutshell::registry
