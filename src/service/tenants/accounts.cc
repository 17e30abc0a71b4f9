#include "service/tenants/accounts.h"

#include <fmt/format.h>

#include <array>

namespace nutshell::service {
namespace {

struct Part {
  Resource resource;
  std::uint64_t amount;
};

std::array<Part, 6> parts_of(const Limits& limits, std::uint64_t state_bytes) {
  using enum Resource;
  return {{{Sandboxes, 1},
           {Memory, limits.memory_bytes},
           {Millicpus, limits.millicpus},
           {Processes, limits.processes},
           {Disk, limits.disk_bytes},
           {StateBytes, state_bytes}}};
}

}  // namespace

Accounts::Accounts(const CurrentRules& rules) : rules_(rules) {
  const Quota machine = rules.get()->machine;
  for (const ResourceInfo& info : resources())
    machine_.push_back(std::make_unique<Account>(machine[info.resource]));
}

std::uint64_t Accounts::most_of(const std::string& tenant, Resource resource) const {
  return tenant.empty() ? Account::kUnbounded : rules_.most(tenant, resource);
}

void Accounts::follow_rules() {
  const Quota machine = rules_.get()->machine;
  for (const ResourceInfo& info : resources()) {
    const auto i = static_cast<std::size_t>(info.resource);
    machine_[i]->set_most(machine[info.resource]);
    tenants_.with([&](std::map<std::string, Row>& tenants) {
      for (auto& [tenant, row] : tenants)
        row[i]->set_most(most_of(tenant, info.resource));
    });
  }
}

Account& Accounts::of(const std::string& tenant, Resource resource) {
  Account* account = tenants_.with([&](std::map<std::string, Row>& tenants) {
    Row& row = tenants[tenant];
    for (std::size_t i = row.size(); i < kResourceCount; ++i) {
      const std::uint64_t most = most_of(tenant, resources().at(i).resource);
      row.push_back(std::make_unique<Account>(most, machine_[i].get()));
    }
    return row[static_cast<std::size_t>(resource)].get();
  });
  return *account;
}

Failure Accounts::refusal(const std::string& tenant, Resource resource) {
  const ResourceInfo& info = info_of(resource);
  const Account& own = of(tenant, resource);
  const Account& all = *machine_[static_cast<std::size_t>(resource)];
  // Does not reveal how much other tenants hold.
  if (!tenant.empty() && all.left() < own.most() - std::min(own.most(), own.used())) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("this machine has no {} left for tenant {}: {}, or try again later",
                               info.words, tenant, info.remedy));
  }
  if (tenant.empty()) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("this machine has no {} left for its pools", info.words));
  }
  return failure(ErrorCode::ResourceExhausted,
                 fmt::format("tenant {} has too little left of its {} ({} of {} in use): {}",
                             tenant, info.words, amount_text(resource, own.used()),
                             amount_text(resource, own.most()), info.remedy));
}

Result<Charge> Accounts::take(const std::string& tenant, Resource resource, std::uint64_t amount) {
  if (auto charge = of(tenant, resource).take(amount)) return std::move(*charge);
  return refusal(tenant, resource);
}

Result<Accounts::Charges> Accounts::take_sandbox(const std::string& tenant, const Limits& limits,
                                                 std::uint64_t state_bytes) {
  Charges charges;
  for (const Part& part : parts_of(limits, state_bytes))
    charges.push_back(TRY(take(tenant, part.resource, part.amount)));
  return charges;
}

Accounts::Charges Accounts::take_sandbox_anyway(const std::string& tenant, const Limits& limits,
                                                std::uint64_t state_bytes) {
  Charges charges;
  for (const Part& part : parts_of(limits, state_bytes))
    charges.push_back(of(tenant, part.resource).take_anyway(part.amount));
  return charges;
}

}  // namespace nutshell::service
