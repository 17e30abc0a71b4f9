// Everything that the relay of one sandbox inspects TLS with: the sandbox's own authority, the
// authorities of the host, secrets behind placeholders, and kept downloads. Thread-safe.
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
  struct Places {
    std::string trust;      // the directory of the files of trust() in the sandbox
    std::string downloads;  // the directory of kept downloads on the host
    // The file with the authorities that servers are checked by; empty: the system's.
    std::string authorities = {};
  };
  static Result<std::unique_ptr<Inspection>> create(const NetworkPolicy& policy,
                                                    const Places& places);

  // For one connection.
  [[nodiscard]] InspectSettings settings() const;
  // The files and variables of the sandbox, with a placeholder for each secret.
  [[nodiscard]] const SandboxTrust& trust() const { return sandbox_trust_; }
  // Takes the secrets and caches of a policy. Refuses secrets that commands have no placeholder
  // for.
  Result<> set_policy(const NetworkPolicy& policy);

 private:
  // Changes with the policy.
  struct Current {
    std::vector<Secret> secrets;
    std::vector<std::string> registries;
    std::unique_ptr<PackageStore> store;  // opened when a policy first has caches; then it stays
  };

  Inspection(Authority authority, ServerTrust server_trust, SandboxTrust sandbox_trust,
             std::string downloads)
      : authority_(std::move(authority)),
        server_trust_(std::move(server_trust)),
        sandbox_trust_(std::move(sandbox_trust)),
        downloads_(std::move(downloads)) {}
  [[nodiscard]] Result<std::vector<Secret>> secrets_of(const NetworkPolicy& policy) const;

  mutable Authority authority_;
  ServerTrust server_trust_;
  SandboxTrust sandbox_trust_;
  std::map<std::string, std::string> placeholders_;  // by the name of the secret
  std::string downloads_;
  Guarded<Current> current_;
};

// Refuses secrets that cannot be kept, with words for their writer.
Result<> check_secrets(const NetworkPolicy& policy);

}  // namespace nutshell::egress
