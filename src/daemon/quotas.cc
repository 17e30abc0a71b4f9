#include "daemon/quotas.h"

#include <algorithm>

namespace nutshell::daemon {
namespace {

using service::Quota;
using service::ResourceInfo;

Quota machine_of(const Config& config, const std::filesystem::path& state) {
  const service::Overcommit overcommit{
      config.number("machine.memory_overcommit"), config.number("machine.cpu_overcommit"),
      config.number("machine.disk_overcommit"), config.number("machine.process_overcommit")};
  Quota machine = service::machine_quota(read_machine(), file_system_bytes(state), overcommit);
  // Whoever waits for a pool holds a worker.
  machine[service::Resource::Waiting] = config.number("limits.workers") / 2;
  return machine;
}

service::Allowed lists_of(const Config& config) {
  return {config.texts("allow.backends"), config.texts("allow.runtimes"),
          config.texts("allow.images"), config.texts("allow.registries")};
}

// What is granted of the machine itself is bounded by its size and the overcommit. All else is room
// that the daemon gives: if a tenant may have so much, there is so much.
void raise_machine(const Quota& tenant, Quota& machine) {
  using enum service::Resource;
  for (const ResourceInfo& info : service::resources()) {
    const bool is_physical = info.resource == Memory || info.resource == Millicpus ||
                             info.resource == Processes || info.resource == Disk ||
                             info.resource == Waiting;
    if (!is_physical)
      machine[info.resource] = std::max(machine[info.resource], tenant[info.resource]);
  }
}

}  // namespace

service::TenantRules tenant_rules(const Config& config, const std::filesystem::path& state) {
  service::TenantRules rules;
  rules.machine = machine_of(config, state);
  rules.default_quota = service::tenant_quota(rules.machine);
  for (const ResourceInfo& info : service::resources()) {
    const std::string key = std::string("quota.") + info.name;
    if (config.text(key).empty()) continue;
    const bool is_cores = info.resource == service::Resource::Millicpus;
    rules.default_quota[info.resource] = is_cores ? config.millicpus(key) : config.number(key);
  }
  const auto& local = rules.local_tenant;
  for (const auto& [tenant, given] : config.quotas) {
    Quota quota = tenant == local ? rules.machine : rules.default_quota;
    for (const auto& [resource, most] : given.most)
      quota[resource] = most;
    rules.quotas[tenant] = quota;
    raise_machine(quota, rules.machine);
    if (given.allowed) rules.allowed_by_tenant[tenant] = *given.allowed;
  }
  raise_machine(rules.default_quota, rules.machine);
  rules.allowed = lists_of(config);
  rules.bounds = {config.number("limits.collected_output_bytes"),
                  config.number("limits.spool_bytes"), config.number("limits.recall_bytes")};
  return rules;
}

std::string default_quota_text(const Config& config, const std::filesystem::path& state,
                               std::string_view key) {
  const Quota quota = service::tenant_quota(machine_of(config, state));
  for (const ResourceInfo& info : service::resources())
    if (key == std::string("quota.") + info.name)
      return service::amount_text(info.resource, quota[info.resource]);
  return {};
}

}  // namespace nutshell::daemon
