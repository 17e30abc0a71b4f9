#include "service/budget_watch.h"

namespace nutshell::service {
namespace {

using namespace std::chrono_literals;

constexpr auto kInitsOwn = 5ms;  // what init may use for itself between two looks

}  // namespace

void BudgetWatch::count(const std::string& tenant, const std::string& session,
                        const std::string& sandbox) {
  if (!ground_.budgets.is_bounded(tenant, session)) return;
  const auto held = ground_.table.copy_of(sandbox);
  if (!held || held->is_unseen) return;
  auto lane = ground_.lanes.take();
  const auto backend = lane->backend(held->spec.backend);
  if (!backend) return;
  // Where the backend does not count, the CPU time is the sum of what execs report.
  const auto stats = (*backend)->stats(sandbox);
  if (stats && stats->cpu_time)
    ground_.budgets.count_cpu(tenant, session, sandbox, *stats->cpu_time);
}

void BudgetWatch::look(const std::string& backend) {
  const auto wanted = ground_.table.those([&backend](const Held& held) {
    return held.spec.backend == backend && !held.session.empty() && !held.is_unseen &&
           held.state == SandboxState::Running;
  });
  for (const Held& held : wanted) {
    count(held.tenant, held.session, held.id);
    end_all(held);
  }
  emptied_.with([&](auto& emptied) {
    std::erase_if(emptied, [this](const auto& item) { return !ground_.table.copy_of(item.first); });
  });
}

void BudgetWatch::end_all(const Held& held) {
  const std::string reason = ground_.budgets.why_over(held.tenant, held.session);
  if (reason.empty()) return;
  const auto used = ground_.budgets.usage(held.tenant, held.session).cpu_time;
  const bool is_empty = emptied_.with([&](auto& emptied) {
    const auto found = emptied.find(held.id);
    return found != emptied.end() && used - found->second < kInitsOwn;
  });
  if (is_empty) return;
  auto connection = ground_.connections.take(held.id);
  // One that cannot be reached is tried again at the next look.
  if (!connection || !connection->client.end_all(reason)) return;
  ground_.connections.keep(held.id, std::move(*connection));
  emptied_.with([&](auto& emptied) { emptied[held.id] = used; });
}

}  // namespace nutshell::service
