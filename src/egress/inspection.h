// Everything that the relay of one sandbox inspects TLS with: the sandbox's own authority, the
// authorities of the host, and secrets behind placeholders. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "core/network_policy.h"
#include "egress/inspect/inspect.h"
#include "egress/inspect/sandbox_trust.h"

namespace nutshell::egress {

class Inspection {
 public:
  // `trust_directory` is where the sandbox will have the files of trust().
  static Result<std::unique_ptr<Inspection>> create(const NetworkPolicy& policy,
                                                    const std::string& trust_directory);

  // For one connection.
  [[nodiscard]] InspectSettings settings() const;
  // The files and variables of the sandbox, with a placeholder for each secret.
  [[nodiscard]] const SandboxTrust& trust() const { return sandbox_trust_; }
  // Takes the secrets of a new policy. Refuses names that commands have no placeholder for.
  Result<> set_secrets(const NetworkPolicy& policy);

 private:
  Inspection(Authority authority, ServerTrust server_trust, SandboxTrust sandbox_trust)
      : authority_(std::move(authority)),
        server_trust_(std::move(server_trust)),
        sandbox_trust_(std::move(sandbox_trust)) {}

  mutable Authority authority_;
  ServerTrust server_trust_;
  SandboxTrust sandbox_trust_;
  std::map<std::string, std::string> placeholders_;  // by the name of the secret
  Guarded<std::vector<Secret>> secrets_;
};

// Refuses secrets that cannot be kept, with words for their writer.
Result<> check_secrets(const NetworkPolicy& policy);

}  // namespace nutshell::egress
