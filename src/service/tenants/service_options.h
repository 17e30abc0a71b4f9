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
#include "service/model/pool_view.h"
#include "service/tenants/tenant_rules.h"

namespace nutshell::service {

struct ServiceOptions {
  BackendContext backends;
  std::filesystem::path state_directory;  // 0700; state.db, audit/, execs/
  std::filesystem::path key_file;         // of secrets in it; empty: state_directory/state.key
  audit::AuditOptions audit;              // its directory is state_directory/audit when empty
  TenantRules rules;
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
