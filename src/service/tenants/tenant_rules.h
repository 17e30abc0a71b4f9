// Rules for tenants: quotas, and lists of what they may choose. The operator can change them while
// the service runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "service/tenants/quota.h"

namespace nutshell::service {

// Bounds of what the daemon keeps for one command or sandbox.
struct Bounds {
  std::uint64_t collected_bytes = 64ULL << 20U;  // output that is collected for an answer
  std::uint64_t spool_bytes = 256ULL << 20U;     // output of a detached or streamed exec, on disk
  std::uint64_t recall_bytes = 64ULL << 20U;     // whole outputs of a sandbox's tool calls
};

// Lists of what a tenant may choose. An empty list allows everything.
struct Allowed {
  std::vector<std::string> backends;
  std::vector<std::string> runtimes;
  std::vector<std::string> images;      // "python:*", "registry.example.com/team/*"
  std::vector<std::string> registries;  // "docker.io", "registry.example.com:5000"
};

struct TenantRules {
  // The owner, who may have all of the machine. Sandboxes that were made without the service belong
  // to this tenant.
  std::string local_tenant = "local";
  Quota machine = machine_quota(read_machine(), file_system_bytes("/"), {});  // of all together
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
};

// The rules that hold now. Thread-safe.
class CurrentRules {
 public:
  explicit CurrentRules(TenantRules rules)
      : rules_(std::make_shared<const TenantRules>(std::move(rules))) {}

  // Shared, because a caller may still read them while they are replaced.
  [[nodiscard]] std::shared_ptr<const TenantRules> get() const {
    const std::lock_guard lock(mutex_);
    return rules_;
  }
  [[nodiscard]] std::uint64_t most(const std::string& tenant, Resource resource) const {
    return get()->quota_of(tenant)[resource];
  }
  void replace(TenantRules rules) {
    auto next = std::make_shared<const TenantRules>(std::move(rules));
    const std::lock_guard lock(mutex_);
    rules_ = std::move(next);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const TenantRules> rules_;
};

}  // namespace nutshell::service
