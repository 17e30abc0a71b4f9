// Registry accounts that are kept by a program of the user's, as Docker's configuration names it:
// docker-credential-NAME.
#pragma once

#include <string>

#include "base/result.h"

namespace nutshell::docker {

struct RegistryAccount {
  std::string user;    // kTokenUser: the secret is a token for an identity
  std::string secret;  // empty: none is kept for that server
};

inline constexpr const char* kTokenUser = "<token>";

// Runs `docker-credential-NAME get` of the PATH, with the server's address at its standard input.
Result<RegistryAccount> ask_credential_program(const std::string& name, const std::string& server);

}  // namespace nutshell::docker
