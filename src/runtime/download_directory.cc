#include "runtime/download_directory.h"

#include "base/sha256.h"
#include "base/state_directory.h"

namespace nutshell {

std::string download_directory(const SandboxSpec& spec) {
  const auto state = user_state_directory();
  if (!state) return {};
  const auto tenant = spec.labels.find(kTenantLabel);
  // A tenant's name may hold any letters.
  const std::string name =
      tenant == spec.labels.end() ? "own" : "tenant-" + sha256_hex(tenant->second);
  return (*state / "downloads" / name).native();
}

}  // namespace nutshell
