#include "service/budgets/budget_watch.h"

namespace nutshell::service {
namespace {

using namespace std::chrono_literals;

constexpr auto kInitsOwn = 5ms;  // CPU time of init itself between two checks

}  // namespace

void BudgetWatch::count(const std::string& tenant, const std::string& session,
                        const std::string& sandbox) {
  if (!uses_.budgets.is_bounded(tenant, session)) return;
  const auto entry = uses_.table.copy_of(sandbox);
  if (!entry || entry->is_unseen) return;
  // If the backend does not count, the CPU time is the sum of what execs report.
  const auto stats = uses_.runtime.stats(sandbox);
  if (stats && stats->cpu_time) uses_.budgets.count_cpu(tenant, session, sandbox, *stats->cpu_time);
}

void BudgetWatch::look(const std::string& backend) {
  const auto wanted = uses_.table.those([&backend](const SandboxEntry& entry) {
    return entry.spec.backend == backend && !entry.session.empty() && !entry.is_unseen &&
           entry.state == SandboxState::Running;
  });
  for (const SandboxEntry& entry : wanted) {
    count(entry.tenant, entry.session, entry.id);
    end_all(entry);
  }
  emptied_.with([&](auto& emptied) {
    std::erase_if(emptied, [this](const auto& item) { return !uses_.table.copy_of(item.first); });
  });
}

void BudgetWatch::end_all(const SandboxEntry& entry) {
  const std::string reason = uses_.budgets.why_over(entry.tenant, entry.session);
  if (reason.empty()) return;
  const auto used = uses_.budgets.usage(entry.tenant, entry.session).cpu_time;
  const bool is_empty = emptied_.with([&](auto& emptied) {
    const auto found = emptied.find(entry.id);
    return found != emptied.end() && used - found->second < kInitsOwn;
  });
  if (is_empty) return;
  const auto ended = uses_.runtime.with_init(
      entry.id, [&reason](wire::InitClient& client) { return client.end_all(reason); });
  if (!ended) return;  // the next tick tries again
  emptied_.with([&](auto& emptied) { emptied[entry.id] = used; });
}

}  // namespace nutshell::service
