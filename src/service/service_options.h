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
#include "service/quota.h"

namespace nutshell::service {

// The bound of what the daemon keeps for a single command or request.
struct Bounds {
  std::uint64_t collected_bytes = 64ULL << 20U;  // output that is collected for an answer
  std::uint64_t spool_bytes = 256ULL << 20U;     // output of a detached or streamed exec, on disk
  std::uint64_t recall_bytes = 64ULL << 20U;     // whole outputs of a sandbox's tool calls
};

// What a tenant may choose. An empty list allows everything.
struct Allowed {
  std::vector<std::string> backends;
  std::vector<std::string> runtimes;
  std::vector<std::string> images;      // "python:*", "registry.example.com/team/*"
  std::vector<std::string> registries;  // "docker.io", "registry.example.com:5000"
};

struct ServiceOptions {
  BackendContext backends;
  std::filesystem::path state_directory;  // 0700; state.db, audit/, execs/
  std::filesystem::path key_file;         // of secrets in it; empty: state_directory/state.key
  audit::AuditOptions audit;              // its directory is state_directory/audit when empty
  // Whom sandboxes belong to that were made without the service, by this user.
  std::string local_tenant = "local";
  // Of all tenants together. The owner, which is the local tenant, may have all of it.
  Quota machine = machine_quota(read_machine(), file_system_bytes("/"), {});
  Quota default_quota = tenant_quota(machine);
  std::map<std::string, Quota> quotas;  // by tenant
  [[nodiscard]] const Quota& quota_of(const std::string& tenant) const {
    const auto own = quotas.find(tenant);
    if (own != quotas.end()) return own->second;
    return tenant == local_tenant ? machine : default_quota;
  }
  Bounds bounds;
  Allowed allowed;
  std::map<std::string, Allowed> allowed_by_tenant;
  [[nodiscard]] const Allowed& allowed_of(const std::string& tenant) const {
    const auto own = allowed_by_tenant.find(tenant);
    return own != allowed_by_tenant.end() ? own->second : allowed;
  }
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
