// Options of a service.
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
  std::filesystem::path key_file;  // encrypts secrets in it; state_directory/state.key if empty
  audit::AuditOptions audit;       // the directory is state_directory/audit if empty
  TenantRules rules;
  // The longest life of a sandbox, however often it is extended, also while idle in a pool.
  std::chrono::milliseconds longest_life{24LL * 3600 * 1000};
  // The backend ends a sandbox this long after its ttl, if the service has not done so.
  std::chrono::milliseconds life_grace{2000};
  std::chrono::milliseconds tick{250};  // how often deadlines are checked
  std::vector<PoolSpec> pools;
  // Callers that may wait for pools at once, of all pools together. Each holds a thread, and those
  // that release sandboxes need threads, too.
  std::size_t most_waiting = 256;
  // Called with a line for each thing that was found or repaired, to be logged.
  std::function<void(std::string_view)> notice = [](std::string_view) {};
};

}  // namespace nutshell::service
