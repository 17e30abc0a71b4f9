// What the program that makes a service gives it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "audit/audit_options.h"
#include "backends/registry.h"
#include "service/pool_view.h"

namespace nutshell::service {

// What one tenant may have at once. Zero is zero: a tenant with none cannot make any.
struct Quota {
  std::uint32_t sandboxes = 1000;
  std::uint64_t memory_bytes = 1ULL << 40U;  // sum of the limits of its sandboxes
  std::uint64_t millicpus = 1'000'000;
  std::uint64_t kept_bytes = 10ULL << 30U;  // files that its sessions leave behind, in all
};

struct ServiceOptions {
  BackendContext backends;
  std::filesystem::path state_directory;  // 0700; state.db, audit/, execs/
  audit::AuditOptions audit;              // its directory is state_directory/audit when empty
  Quota default_quota;
  std::map<std::string, Quota> quotas;  // by tenant
  [[nodiscard]] const Quota& quota_of(const std::string& tenant) const {
    const auto own = quotas.find(tenant);
    return own != quotas.end() ? own->second : default_quota;
  }
  // Whom sandboxes belong to that were made without the service, by this user.
  std::string local_tenant = "local";
  // How long a sandbox can live at most, whatever it is extended to; also one that waits in a pool.
  std::chrono::milliseconds longest_life{24LL * 3600 * 1000};
  // The backend ends a sandbox this much after its ttl, should nobody have done it before.
  std::chrono::milliseconds life_grace{2000};
  std::chrono::milliseconds tick{250};  // how often the clocks are looked at
  std::vector<PoolSpec> pools;
  // Callers that wait for pools at once, of all pools together; the next are refused. Each holds a
  // thread, and those who give sandboxes back need some too.
  std::size_t most_waiting = 256;
  // One line of what was found or repaired; the caller logs it.
  std::function<void(std::string_view)> notice = [](std::string_view) {};
};

}  // namespace nutshell::service
